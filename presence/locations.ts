import { isAbsolutePath } from "../common/allowed_roots.ts";
import type { Surroundings } from "./surroundings.ts";

/** Where other programs keep their stores (`presence.md` 2.5). Null: there is no such place. */
export interface Places {
  readonly home: string | null;
  /** The same rule on every system, as the programs that use it have it. */
  readonly xdgData: string | null;
  /** Of editors. */
  readonly config: string | null;
  readonly localAppData: string | null;
  readonly appData: string | null;
}

export function places({ os, env }: Pick<Surroundings, "os" | "env">): Places {
  const home = (os === "windows" ? windowsHome(env) : null) ?? filled(env("HOME"));
  const appData = os === "windows" ? filled(env("APPDATA")) : null;
  return {
    home,
    xdgData: absolute(env("XDG_DATA_HOME")) ?? below(home, ".local/share"),
    config: os === "windows"
      ? appData
      : os === "darwin"
      ? below(home, "Library/Application Support")
      : absolute(env("XDG_CONFIG_HOME")) ?? below(home, ".config"),
    localAppData: os === "windows" ? filled(env("LOCALAPPDATA")) : null,
    appData,
  };
}

function windowsHome(env: Surroundings["env"]): string | null {
  const profile = filled(env("USERPROFILE"));
  if (profile !== null) return profile;
  const drive = filled(env("HOMEDRIVE")), path = filled(env("HOMEPATH"));
  return drive !== null && path !== null ? drive + path : null;
}

/** Null for unset and empty. */
export function filled(value: string | undefined): string | null {
  return value === undefined || value === "" ? null : value;
}

/** The value of a variable that names a folder or file; one that is not absolute counts as unset. */
export function absolute(value: string | undefined): string | null {
  const set = filled(value);
  return set !== null && isAbsolutePath(set, Deno.build.os === "windows") ? set : null;
}

/** Windows takes `/` too, so there is one way to join. */
export function below(base: string | null, rest: string): string | null {
  return base === null ? null : `${base.replace(/[/\\]+$/, "")}/${rest}`;
}
