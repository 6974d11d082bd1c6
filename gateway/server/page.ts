/** Serves the approval page; null when the path is none of its files. The page itself is not built yet. */
export function pageRoute(
  _request: Request,
  _path: string,
  _authority: string,
): Promise<Response | null> {
  return Promise.resolve(null);
}
