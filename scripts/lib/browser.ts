/** Where a browser for the tests of the page is. */

/** Debian's and others' places of the browser; `FLUXGIT_TEST_BROWSER` names another. */
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The browser, or null when there is none. */
export function browserPath(): string | null {
  const named = Deno.env.get("FLUXGIT_TEST_BROWSER");
  for (const path of named ? [named] : BROWSERS) {
    try {
      if (Deno.statSync(path).isFile) return path;
    } catch { /* the next one */ }
  }
  return null;
}
