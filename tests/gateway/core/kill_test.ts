import assert from "node:assert/strict";
import { Sandbox } from "../../fixtures/sandbox.ts";
import { GatewayProcess } from "../cli/world.ts";
import { commitLane, discardLane, type Known, type Lane, Life } from "./kill_lanes.ts";

/** Moments at which the gateway is killed, over all runs together. */
const KILLS = Number(Deno.env.get("FLUXGIT_TEST_KILLS") ?? 200);
/** Runs beside each other, each with a run directory and repositories of its own. */
const RUNS = 3;

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
function chance(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What the kills met, so that a run which never met anything is seen. */
interface Met {
  executing: number;
  begun: number;
  half: number;
  pending: number;
  completed: number;
}

class Run {
  readonly known: Known[] = [];
  /** The open proposal of each lane; it is decided before the next one is made. */
  readonly open = new Map<Lane, Known>();

  constructor(readonly box: Sandbox, readonly lanes: readonly Lane[], readonly met: Met) {}

  /** Works until the gateway is gone. */
  async work(life: Life, rounds: number): Promise<void> {
    await Promise.all(this.lanes.map(async (lane) => {
      for (let i = 0; i < rounds; i++) {
        let open = this.open.get(lane);
        if (!open) {
          const { type, more } = await lane.prepare();
          open = { lane, id: crypto.randomUUID(), admitted: false, told: null };
          this.open.set(lane, open);
          this.known.push(open);
          await life.propose(open, type, more);
          if (!open.admitted) return;
        }
        if (!await life.approve(open)) return;
        assert.equal(await lane.look(), "after");
        this.open.delete(lane);
      }
    }));
  }

  /** Holds the journal against the repositories after a restart. */
  async check(life: Life): Promise<void> {
    await this.#orphansEnd();
    assert(await life.signIn());
    const statuses = await life.statuses();
    for (const known of this.known) {
      const status = statuses.get(known.id);
      if (known.told !== null) assert.equal(status, known.told, "what was told stays true");
      else if (known.admitted) assert.notEqual(status, undefined, "no proposal is lost");
    }
    for (const lane of this.lanes) {
      for (const [what, times] of await lane.begun()) assert.equal(times, 1, `${what} ran twice`);
      const open = this.open.get(lane);
      if (open) await this.#settle(life, lane, open, statuses.get(open.id) ?? null);
    }
  }

  async #settle(life: Life, lane: Lane, open: Known, status: string | null): Promise<void> {
    const look = await lane.look();
    switch (status) {
      case null:
        // Sent, but not admitted: the agent was told nothing, and nothing happened.
        assert.equal(look, "before");
        assert.equal(open.admitted, false);
        this.open.delete(lane);
        return;
      case "pending":
      case "approved":
        this.met.pending++;
        assert.equal(look, "before", `${status}, but the repository is changed`);
        open.admitted = true;
        return;
      case "completed":
        this.met.completed++;
        assert.equal(look, "after");
        open.told = status;
        this.open.delete(lane);
        return;
      case "executing":
        break;
      default:
        assert.fail(`a killed gateway left ${status}`);
    }
    this.met.executing++;
    const card = (await life.ask("GET", `/v1/human/proposals/${open.id}`))!.body;
    assert.equal(card.running, false);
    if (card.recovery.begun) {
      this.met.begun++;
      if (look === null) this.met.half++;
      const [place] = card.recovery.repositories;
      assert.equal(place.unchanged, look === "before", card.recovery.message);
      await this.#goBack(life, lane, place.restorePointId);
    } else assert.equal(look, "before", "the journal says that nothing was changed");
    const ended = await life.ask("POST", `/v1/human/proposals/${open.id}/reconcile`, {
      outcome: "failed",
    });
    assert.equal(ended?.status, 200, JSON.stringify(ended?.body));
    open.told = "failed";
    this.open.delete(lane);
  }

  /** The restore point that was made first brings everything back. */
  async #goBack(life: Life, lane: Lane, id: string): Promise<void> {
    const asked = { repoPath: lane.repo, id };
    const { preview } = (await life.ask("POST", "/v1/human/restore/preview", asked))!.body;
    const answer = await life.ask("POST", "/v1/human/restore/apply", {
      ...asked,
      digest: preview.digest,
    });
    assert.equal(answer?.status, 200, JSON.stringify(answer?.body));
    assert.equal(answer?.body.verified, true, JSON.stringify(answer?.body.differences));
    assert.equal(await lane.look(), "before");
  }

  /** Children of the killed gateway may still be at work; a person would see the same a moment later. */
  async #orphansEnd(): Promise<void> {
    for (let i = 0; i < 200; i++) {
      const out = await new Deno.Command("ps", { args: ["-eo", "args="] }).output();
      const all = new TextDecoder().decode(out.stdout).split("\n");
      const atWork = all.some((line) =>
        /^\S*git\b/.test(line) && this.lanes.some((lane) => line.includes(lane.repo))
      );
      if (!atWork) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.fail("the children of the killed gateway do not end");
  }
}

async function oneRun(seed: number, kills: number, met: Met): Promise<void> {
  await using box = await Sandbox.create();
  const next = chance(seed);
  // One run has work in two repositories at once.
  const lanes = await Promise.all([
    ...(seed % RUNS !== 1 ? [commitLane(box, "commits")] : []),
    ...(seed % RUNS !== 2 ? [discardLane(box, "discards")] : []),
  ]);
  const run = new Run(box, lanes, met);
  // How long things take here, so that the moments fall into all of them on any machine.
  let [roundMs, approvalMs] = [0, 0];
  {
    await using gateway = await GatewayProcess.start(box);
    const life = new Life(gateway);
    await run.check(life);
    const started = performance.now();
    await run.work(life, 1);
    [roundMs, approvalMs] = [performance.now() - started, life.approvalMs];
  }
  for (let i = 0; i < kills; i++) {
    await using gateway = await GatewayProcess.start(box);
    const life = new Life(gateway);
    await run.check(life);
    const working = run.work(life, 100);
    // A fault of the run itself is told below, not as an unhandled one.
    working.catch(() => {});
    // Every second moment lies within an approval, the others anywhere.
    const within = i % 2 === 1;
    if (within) await Promise.race([life.approving.promise, working]);
    const latest = within ? approvalMs : roundMs;
    await new Promise((resolve) => setTimeout(resolve, next() * latest));
    gateway.kill("SIGKILL");
    await gateway.ended();
    await working;
  }
  // The last life goes on where the others were cut off, and ends by itself.
  await using gateway = await GatewayProcess.start(box);
  const life = new Life(gateway);
  await run.check(life);
  await run.work(life, 1);
  assert.equal(run.open.size, 0);
  gateway.kill("SIGTERM");
  assert.equal((await gateway.ended()).code, 0);
}

Deno.test(`killed at ${KILLS} moments: no proposal is lost, none runs twice, no half is hidden`, async () => {
  const met: Met = { executing: 0, begun: 0, half: 0, pending: 0, completed: 0 };
  const ends = await Promise.allSettled(
    Array.from({ length: RUNS }, (_, i) => {
      // The run with two repositories takes twice the time for each of its moments.
      const both = Math.floor(KILLS / 10);
      const share = i === 0 ? both : Math.floor((KILLS - both + i - 1) / (RUNS - 1));
      return oneRun(20_262 + i, share, met);
    }),
  );
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  // A test whose kills never met an execution would show nothing.
  if (KILLS >= 100) {
    assert(met.executing >= 5 && met.begun >= 2 && met.pending >= 5, JSON.stringify(met));
  }
});
