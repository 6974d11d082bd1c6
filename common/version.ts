/** Version of the program; `tests/` hold it equal to `deno.json`. */
export const VERSION = "0.1.0";
