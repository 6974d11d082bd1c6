/** The world of an interactive command; `main.ts` fills it with the process's own. */
export interface InteractiveIo {
  stdout(text: string): void | Promise<void>;
  stderr(text: string): void | Promise<void>;
  env(name: string): string | undefined;
  /** True when a person sits at standard input. */
  readonly interactive: boolean;
  /** Whether what is written is seen on a terminal; a stream that is not said counts as one. */
  readonly screens?: { readonly stdout: boolean; readonly stderr: boolean };
  /** Next line of standard input without its end; null at the end. */
  readLine(): Promise<string | null>;
  /** Gives up permissions for good, whatever goes wrong later. */
  readonly drop?: (...names: Deno.PermissionName[]) => void;
}
