/** Version of the program; `tests/` hold it equal to `deno.json`. */
export const VERSION = "0.1.0";

/** Where people read more; answers that refuse for want of a gateway name it. */
export const HOMEPAGE = "https://github.com/fluxgit-hq/fluxgit-sidecar";
