import { PAGE_ASSETS } from "./generated/page_assets.ts";
import { guard } from "./http.ts";
import { Refusal } from "./refusal.ts";

/**
 * What a browser may do with the page: run its one script, talk to this gateway, and nothing else. No
 * text can become markup (`trusted-types`), no other page can frame it or keep a hold of its window.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), clipboard-read=()",
  "cache-control": "no-store",
};

/**
 * Serves the approval page; null when the path is none of its files. It holds no secret: what it shows
 * comes by the routes for people, with a session. Throws {@link Refusal} for a foreign Host or site.
 */
export function pageRoute(
  request: Request,
  path: string,
  authority: string,
): Response | null {
  if (!Object.hasOwn(PAGE_ASSETS, path)) return null;
  guard(request, authority, "page");
  if (request.method !== "GET") {
    throw new Refusal(405, "method_not_allowed", "the page is only read", "Use GET.");
  }
  const { type, text } = PAGE_ASSETS[path]!;
  return new Response(text, { headers: { ...PAGE_HEADERS, "content-type": type } });
}
