import { definePreview } from "./preview.ts";
import { checkBranch, checkRemote, given } from "./refusals.ts";

export default definePreview({
  type: "push",
  title: "Propose a push",
  description:
    "Propose pushing branch (default: the checked-out one) to a configured remote. Force only with lease.",
  risk: "medium",
  destructive: true,
  openWorld: true,
  input: (z) => ({
    remote: z.string().max(4_096).default("origin"),
    branch: z.string().max(4_096).optional(),
    setUpstream: z.boolean().default(false),
    forceWithLease: z.boolean().default(false),
  }),
  result: (z) => ({ pushedRef: z.string().optional(), remote: z.string().optional() }),
  check(args) {
    const remote = given(args.remote), branch = given(args.branch);
    if (remote !== undefined) checkRemote("remote", remote);
    if (branch !== undefined) checkBranch("branch", branch);
  },
  members({ remote, branch, setUpstream, forceWithLease }) {
    const pushed = given(branch);
    return {
      remote: given(remote) ?? "origin",
      ...(pushed === undefined ? {} : { branch: pushed }),
      setUpstream,
      forceWithLease,
    };
  },
});
