import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { openRepository, type Repository } from "../../git/repository.ts";
import type { Card } from "../../gateway/server/cards.ts";
import { type Gateway, startGateway } from "../../gateway/server/gateway.ts";
import { loadOperation } from "../../gateway/server/operations.ts";
import type { ProposalRecord } from "../../gateway/server/journal.ts";
import { parsePolicy } from "../../gateway/server/policy.ts";
import { Refusal } from "../../gateway/server/refusal.ts";
import { restoreRoom } from "../../gateway/server/restore_room.ts";
import type { AgentView } from "../../gateway/server/service.ts";
import type { Overrides } from "../../gateway/server/types.ts";
import {
  applyRestore,
  previewRestore,
  redo,
  registerRepository,
  type RestoreResult,
  undo,
  withRepositoryLock,
  type WriteContext,
} from "../../restore/mod.ts";
import { Sandbox, useSandbox } from "../fixtures/sandbox.ts";

export interface LabOptions {
  /** Text of an agent policy file. */
  readonly policy?: string;
  /** Where stores of other agents are found; default: nobody is looked for. */
  readonly env?: (name: string) => string | undefined;
  /** Wall clock of the gateway; default the real one. */
  readonly now?: () => number;
  /** Milliseconds that an approved git command may take. */
  readonly approvedDeadlineMs?: number;
}

/** What a person gives with a yes; what is left out is taken from the card as it is. */
export interface Yes {
  readonly digest?: string;
  readonly words?: string | null;
  readonly overrides?: Overrides;
}

/**
 * A whole gateway in this process (journal, proposals, restore points, a free port) over a sandbox of
 * its own, and the two who talk to it: the agent that proposes and the person who looks and decides.
 */
export class GatewayLab implements AsyncDisposable {
  readonly log: string[] = [];
  /** Runs once, after the last look and right before the operation itself: the moment of a race. */
  meanwhile: (() => Promise<unknown>) | null = null;
  #count = 0;

  private constructor(readonly box: Sandbox, readonly gateway: Gateway) {}

  static async create(options: LabOptions = {}): Promise<GatewayLab> {
    const box = await Sandbox.create();
    useSandbox(box);
    const holder: { lab: GatewayLab | null } = { lab: null };
    const gateway = await startGateway({
      runDir: `${box.root}/run`,
      port: 0,
      attended: false,
      policy: options.policy === undefined ? null : parsePolicy(options.policy),
      ledger: null,
      restore: restoreRoom,
      log: (line) => void holder.lab?.log.push(line),
      load: async (type) => {
        const operation = await loadOperation(type);
        return {
          ...operation,
          async execute(action, inspection, context) {
            const { lab } = holder;
            const race = lab?.meanwhile;
            if (lab) lab.meanwhile = null;
            await race?.();
            return await operation.execute(action, inspection, context);
          },
        };
      },
      ...(options.env ? { env: options.env } : {}),
      ...(options.now ? { now: options.now } : {}),
      ...(options.approvedDeadlineMs === undefined
        ? {}
        : { approvedDeadlineMs: options.approvedDeadlineMs }),
    });
    holder.lab = new GatewayLab(box, gateway);
    return holder.lab;
  }

  get service(): Gateway["service"] {
    return this.gateway.service;
  }

  get runDir(): string {
    return this.gateway.runDir;
  }

  /** A preview body as a sidecar sends it. */
  body(repoPath: string, type: string, members: Record<string, unknown>): Record<string, unknown> {
    const previewId = `p-${++this.#count}-${crypto.randomUUID()}`;
    return {
      previewId,
      agentId: "test-agent",
      idempotencyKey: `${type}:call:${previewId}`,
      operationType: type,
      repoPath,
      reason: "a test asks for it",
      requestedAt: "2026-01-01T00:00:00.000Z",
      ...members,
    };
  }

  async propose(
    repoPath: string,
    type: string,
    members: Record<string, unknown>,
  ): Promise<AgentView> {
    return await this.service.propose(type, this.body(repoPath, type, members), null);
  }

  async card(previewId: string, overrides: Overrides = {}): Promise<Card> {
    return await this.service.card(previewId, overrides);
  }

  /** Proposes and gives the card. */
  async show(
    repoPath: string,
    type: string,
    members: Record<string, unknown>,
    overrides: Overrides = {},
  ): Promise<Card> {
    const { previewId } = await this.propose(repoPath, type, members);
    return await this.card(previewId, overrides);
  }

  /** A person's yes to a card: with its digest and words, unless told otherwise. */
  async approve(card: Card, yes: Yes = {}): Promise<ProposalRecord> {
    const digest = yes.digest ?? card.digest;
    assert(digest !== null, `the card cannot be approved: ${JSON.stringify(card.blockers)}`);
    return await this.service.approve(card.previewId, {
      digest,
      words: yes.words === undefined ? card.words : yes.words,
      overrides: yes.overrides ?? card.overrides,
    }, "terminal");
  }

  /** Proposes, looks, says yes; gives the ended proposal. */
  async run(
    repoPath: string,
    type: string,
    members: Record<string, unknown>,
    overrides: Overrides = {},
  ): Promise<ProposalRecord> {
    return await this.approve(await this.show(repoPath, type, members, overrides));
  }

  /** As {@link run}; fails the test unless it completed. Gives the result. */
  async done(
    repoPath: string,
    type: string,
    members: Record<string, unknown>,
    overrides: Overrides = {},
    // deno-lint-ignore no-explicit-any
  ): Promise<any> {
    const record = await this.run(repoPath, type, members, overrides);
    assert.equal(record.status, "completed", JSON.stringify(record.result));
    return record.result;
  }

  status(previewId: string): AgentView {
    return this.service.status(previewId);
  }

  /**
   * The codes of the blockers of a card, after showing that an approval is refused and that neither the
   * card nor the try changed the repository.
   */
  async refused(
    repoPath: string,
    type: string,
    members: Record<string, unknown>,
    overrides: Overrides = {},
  ): Promise<string[]> {
    const before = await this.state(repoPath);
    const card = await this.show(repoPath, type, members, overrides);
    assert(card.blockers.length > 0, `nothing stands against it: ${JSON.stringify(card)}`);
    if (card.digest !== null) {
      await assert.rejects(() => this.approve(card), Refusal);
    }
    assert.equal(this.status(card.previewId).status, "pending");
    this.service.cancel(card.previewId, "test-agent", null);
    assert.deepEqual(await this.state(repoPath), before);
    return card.blockers.map(({ code }) => code);
  }

  /** The restore room, as the gateway uses it for a person. */
  async restoring<T>(
    repoPath: string,
    work: (repo: Repository, context: WriteContext) => Promise<T>,
  ): Promise<T> {
    const repo = await openRepository(repoPath);
    const repoId = await registerRepository(this.runDir, repo.path);
    return await withRepositoryLock(repo.facts.commonDir, (lock) =>
      work(repo, {
        runDir: this.runDir,
        repoId,
        lock,
        now: Date.now,
        log: (line) => void this.log.push(line),
      }));
  }

  async applyPoint(repoPath: string, pointId: string): Promise<RestoreResult> {
    return await this.restoring(repoPath, async (repo, context) => {
      const { digest } = await previewRestore(repo, context, pointId);
      return await applyRestore(repo, context, { pointId, expectedDigest: digest });
    });
  }

  async undo(repoPath: string): Promise<RestoreResult> {
    return await this.restoring(repoPath, (repo, context) => undo(repo, context));
  }

  async redo(repoPath: string): Promise<RestoreResult> {
    return await this.restoring(repoPath, (repo, context) => redo(repo, context));
  }

  /** Everything that an operation may touch, as text to compare; see {@link repositoryState}. */
  async state(repoPath: string): Promise<RepositoryState> {
    return await repositoryState(this.box, repoPath);
  }

  /** As {@link state}, with the index byte for byte and the rest of what a restore brings back. */
  async exactState(repoPath: string): Promise<RepositoryState & { readonly indexFile: string }> {
    const state = await repositoryState(this.box, repoPath);
    const gitDir = (await this.box.git(repoPath, "rev-parse", "--absolute-git-dir")).trim();
    return { ...state, indexFile: hash(`${gitDir}/index`) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway.stop();
    await this.box[Symbol.asyncDispose]();
  }
}

export interface RepositoryState {
  /** Every file of the work tree: name, permission bits, hash or link target. */
  readonly files: readonly string[];
  /** `ls-files --stage` with flags. */
  readonly index: readonly string[];
  readonly head: string;
  readonly refs: readonly string[];
  readonly stash: readonly string[];
  /** Names in the git directory that tell of an operation in progress or a lock. */
  readonly inProgress: readonly string[];
}

/** Reads the state of a repository with plain git. */
export async function repositoryState(box: Sandbox, path: string): Promise<RepositoryState> {
  const lines = async (...args: string[]) =>
    (await box.tryGit(path, args)).stdout.split("\n").filter(Boolean);
  const [gitDir = ""] = await lines("rev-parse", "--absolute-git-dir");
  const [bare] = await lines("rev-parse", "--is-bare-repository");
  const inProgress: string[] = [];
  for (const { name } of Deno.readDirSync(gitDir)) {
    if (
      /^(?:MERGE_|SQUASH_MSG|CHERRY_PICK_HEAD|REVERT_HEAD|rebase-|sequencer)|\.lock$/.test(name)
    ) {
      inProgress.push(name);
    }
  }
  return {
    files: bare === "true" ? [] : filesBelow(path),
    index: bare === "true" ? [] : await lines("ls-files", "--stage", "-v"),
    head: (await box.tryGit(path, ["symbolic-ref", "-q", "HEAD"])).stdout.trim() ||
      (await lines("rev-parse", "HEAD")).join(),
    refs: await lines("for-each-ref", "--format=%(refname) %(objectname) %(symref)"),
    stash: await lines("stash", "list", "--format=%H %gs"),
    inProgress: inProgress.sort(),
  };
}

function filesBelow(top: string): string[] {
  const found: string[] = [];
  const walk = (folder: string) => {
    for (const entry of Deno.readDirSync(`${top}/${folder}`)) {
      if (entry.name === ".git") continue;
      const name = folder + entry.name;
      const info = Deno.lstatSync(`${top}/${name}`);
      const bits = ((info.mode ?? 0) & 0o7777).toString(8);
      if (info.isDirectory) walk(`${name}/`);
      else if (info.isSymlink) found.push(`${name} -> ${Deno.readLinkSync(`${top}/${name}`)}`);
      else if (info.isFile) found.push(`${name} ${bits} ${hash(`${top}/${name}`)}`);
      else found.push(`${name} special`);
    }
  };
  walk("");
  return found.sort();
}

function hash(path: string): string {
  return createHash("sha256").update(Deno.readFileSync(path)).digest("hex");
}

/** Writes an executable hook. */
export async function hook(repoPath: string, name: string, script: string): Promise<void> {
  await Deno.mkdir(`${repoPath}/.git/hooks`, { recursive: true });
  const path = `${repoPath}/.git/hooks/${name}`;
  await Deno.writeTextFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await Deno.chmod(path, 0o755);
}
