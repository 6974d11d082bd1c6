/** A real browser for the tests and measurements of the page. */

import type { Browser } from "playwright-core";

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

/** Starts the browser. It reaches nothing but loopback: its own services are off. */
export async function startBrowser(more: readonly string[] = []): Promise<Browser> {
  // The driver is loaded only where it is used: few runs need it.
  const { chromium } = await import("playwright-core");
  const executablePath = browserPath();
  if (executablePath === null) throw new Error("no browser is installed: apt-get install chromium");
  return await chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
}
