/**
 * Watches over one running child: deadline, cancellation, bounded output, and an end that does not wait for
 * what the child leaves behind. Knows nothing of git; `git/command.ts` starts the processes.
 */

export interface ChildOptions {
  readonly signal?: AbortSignal | undefined;
  readonly deadlineMs: number;
  /** Written to standard input, which is then closed. The child must have been started with a pipe for it. */
  readonly stdin?: Uint8Array | string | undefined;
  /** Bytes of standard error that are kept, and that the child may write before it is stopped. */
  readonly stderrKept: number;
  readonly stderrBytes: number;
  /** Milliseconds that pipes may stay open after the child has ended. */
  readonly pipesMs: number;
  /** Kill the child when this process exits before it; for children that leave nothing half done. */
  readonly dieWithUs?: boolean;
}

export interface ChildEnd {
  /** `exited` by itself, or why it was stopped; `stuck` when it did not end even when killed. */
  readonly why: "exited" | "cancelled" | "timed_out" | "stderr" | "stuck";
  /** The reader of standard output wanted no more; then `code` says nothing. */
  readonly stopped: boolean;
  readonly code: number;
  readonly signal: string | null;
  readonly stderr: string;
}

/** Milliseconds between asking a child to end and killing it, and between that and giving up on it. */
const GRACE_MS = 500;
const STUCK_MS = 5_000;

/** Children that must not outlive this process: it may exit sooner than {@link GRACE_MS} runs out. */
const mortal = new Set<Deno.ChildProcess>();

globalThis.addEventListener("unload", () => {
  for (const child of mortal) kill(child, "SIGKILL");
});

/**
 * Waits for the end of a child with piped output, handing standard output to `onStdout`; `false` from it stops
 * the child. Standard output that the child wrote is read to its end even when a process it started holds the
 * pipe open. Throws what `onStdout` throws, after the child has been stopped.
 */
export async function superviseChild(
  child: Deno.ChildProcess,
  options: ChildOptions,
  onStdout: (chunk: Uint8Array) => boolean,
): Promise<ChildEnd> {
  let why: ChildEnd["why"] = "exited";
  let over = false, stopped = false;
  let failure: { error: unknown } | null = null;
  const timers: ReturnType<typeof setTimeout>[] = [];
  if (options.dieWithUs) mortal.add(child);
  const stuck = Promise.withResolvers<null>();
  let ending = false;
  const end = () => {
    if (over || ending) return;
    ending = true;
    kill(child, "SIGTERM");
    // A child that ignores SIGTERM must not outlive its call.
    timers.push(setTimeout(() => {
      kill(child, "SIGKILL");
      timers.push(setTimeout(() => stuck.resolve(null), STUCK_MS));
    }, GRACE_MS));
  };
  const stop = (reason: "cancelled" | "timed_out" | "stderr") => {
    if (over) return;
    if (why === "exited") why = reason;
    end();
  };
  timers.push(setTimeout(() => stop("timed_out"), options.deadlineMs));
  const onAbort = () => stop("cancelled");
  options.signal?.addEventListener("abort", onAbort, { once: true });
  const feeding = feed(child, options.stdin);
  const reading = readAll(child.stdout, (chunk) => {
    try {
      if (onStdout(chunk)) return true;
    } catch (error) {
      failure = { error };
    }
    stopped = true;
    end();
    return false;
  });
  const kept: Uint8Array[] = [];
  let stderrSize = 0;
  const complaining = readAll(child.stderr, (chunk) => {
    const room = options.stderrKept - stderrSize;
    if (room > 0) kept.push(chunk.slice(0, room));
    stderrSize += chunk.length;
    if (stderrSize <= options.stderrBytes) return true;
    stop("stderr");
    return false;
  });
  try {
    const status = await Promise.race([child.status, stuck.promise]);
    over = true;
    mortal.delete(child);
    if (status === null) child.unref();
    // All that the child wrote is in the pipes now. A process that it started may hold them open for ever.
    // After a stop nobody wants the rest.
    const drained = Promise.all([reading.done, complaining.done, feeding.done]);
    const wanted = status !== null && why === "exited" && !stopped;
    if (!wanted || !await within(drained, options.pipesMs)) {
      for (const pipe of [reading, complaining, feeding]) pipe.cancel();
      await Promise.allSettled([reading.done, complaining.done]);
    }
    if (failure) throw (failure as { error: unknown }).error;
    return {
      why: status === null ? "stuck" : why,
      stopped,
      code: status?.code ?? -1,
      signal: status?.signal ?? null,
      stderr: new TextDecoder().decode(concat(kept)),
    };
  } finally {
    for (const timer of timers) clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
  }
}

function kill(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch { /* it has already ended */ }
}

interface Pipe {
  /** Settles, never rejects, when the pipe is at its end. */
  readonly done: Promise<void>;
  cancel(): void;
}

function feed(child: Deno.ChildProcess, input: Uint8Array | string | undefined): Pipe {
  if (input === undefined) return { done: Promise.resolve(), cancel() {} };
  const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
  const writer = child.stdin.getWriter();
  const cancel = () => void writer.abort().catch(() => {});
  // The child may end before it has read everything; its exit code tells the story.
  const done = writer.write(bytes).then(() => writer.close()).catch(cancel);
  return { done, cancel };
}

function readAll(
  stream: ReadableStream<Uint8Array>,
  onChunk: (chunk: Uint8Array) => boolean,
): Pipe {
  const reader = stream.getReader();
  const done = (async () => {
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        if (!onChunk(value)) return await reader.cancel();
      }
    } catch { /* the pipe broke because the child was stopped */ }
  })();
  return { done, cancel: () => void reader.cancel().catch(() => {}) };
}

async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(false), ms));
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Joins pieces; a single one is given back as it is. */
export function concat(chunks: readonly Uint8Array[]): Uint8Array {
  if (chunks.length === 1) return chunks[0]!;
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
