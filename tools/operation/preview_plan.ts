import type { z as zod } from "zod";
import type { Z } from "../../registry/define.ts";
import { definePreview } from "./preview.ts";
import { checkPath, checkRef, checkText, refuse } from "./refusals.ts";
import { completion, patchContent, paths, ref, resetMode, STEP_TYPES, strategy } from "./shapes.ts";

type StepType = typeof STEP_TYPES[number];

/** What each kind of step must have, and what else it may have. */
const STEP_FIELDS: Readonly<Record<StepType, { needs: string[]; takes: string[] }>> = {
  merge: { needs: ["sourceRef", "targetRef"], takes: ["strategy"] },
  rebase: { needs: ["ontoRef"], takes: ["currentRef", "interactive"] },
  discard: { needs: ["paths"], takes: [] },
  reset: { needs: ["targetRef"], takes: ["mode"] },
  patch: { needs: ["patchContent"], takes: ["applyToIndex"] },
};

const step = (z: Z) =>
  z.strictObject({
    operationType: z.enum(STEP_TYPES),
    sourceRef: ref(z).optional(),
    targetRef: ref(z).optional(),
    currentRef: ref(z).optional(),
    ontoRef: ref(z).optional(),
    strategy: strategy(z).optional(),
    interactive: z.literal(false).optional(),
    paths: paths(z).min(1).optional(),
    mode: resetMode(z).optional(),
    patchContent: patchContent(z).optional(),
    applyToIndex: z.boolean().optional(),
  }).meta({
    oneOf: STEP_TYPES.map((type) => ({
      properties: { operationType: { const: type } },
      required: STEP_FIELDS[type].needs,
    })),
  });

type Step = zod.output<ReturnType<typeof step>>;

export default definePreview({
  type: "plan",
  title: "Propose a step plan",
  description:
    "Propose up to 10 steps under one approval, run in order until one fails. Give each step only the fields of its type.",
  risk: "medium",
  destructive: true,
  input: (z) => ({ steps: z.array(step(z)).min(1).max(10) }),
  result: (z) => ({
    steps: z.array(completion(z, {
      operationType: z.enum(STEP_TYPES),
      status: z.enum(["completed", "failed", "skipped"]),
    })).optional(),
  }),
  check: (args) => args.steps.forEach((step, i) => checkStep(`steps[${i}]`, step)),
  members: ({ steps }) => ({ steps: steps.map(wholeStep) }),
});

/** A step with its own members only and every default filled in, as a single proposal would send it. */
function wholeStep(step: Step): Record<string, unknown> {
  const { operationType } = step;
  switch (operationType) {
    case "merge": {
      const { sourceRef, targetRef, strategy = "merge" } = step;
      return { operationType, sourceRef, targetRef, strategy };
    }
    case "rebase": {
      const { currentRef = "HEAD", ontoRef, interactive = false } = step;
      return { operationType, currentRef, ontoRef, interactive };
    }
    case "discard":
      return { operationType, paths: step.paths };
    case "reset": {
      const { targetRef, mode = "mixed" } = step;
      return { operationType, targetRef, mode };
    }
    case "patch": {
      const { patchContent, applyToIndex = false } = step;
      return { operationType, patchContent, applyToIndex };
    }
  }
}

function checkStep(at: string, step: Step): void {
  const { needs, takes } = STEP_FIELDS[step.operationType];
  for (const [name, value] of Object.entries(step)) {
    const field = `${at}.${name}`;
    if (name === "operationType" || value === undefined) continue;
    if (!needs.includes(name) && !takes.includes(name)) {
      refuse(field, String(value), `does not belong to a ${step.operationType} step`);
    }
    if (name.endsWith("Ref")) checkRef(field, value as string);
    if (name === "paths") (value as string[]).forEach((p, i) => checkPath(`${field}[${i}]`, p));
    if (name === "patchContent") checkText(field, value as string);
  }
}
