import { ApiError, ask, messageOf } from "./api.ts";
import { refs } from "./card.ts";
import { facts } from "./card_details.ts";
import { parseDiff } from "./diff_parse.ts";
import { diffView } from "./diff_view.ts";
import { button, type Child, fill, h, icon, ident, longList, oid, say } from "./dom.ts";
import type { Named, RestorePoint, RestorePreview } from "./shapes.ts";
import { count, refName } from "./text.ts";
import { operationName } from "./words.ts";

/** A way back is shown before it is gone, and bound to what was shown like an approval. */

export type RestoreAction =
  | { readonly kind: "undo" | "redo" }
  | { readonly kind: "apply"; readonly id: string };

interface Applied {
  readonly verified: boolean;
  readonly differences: readonly string[];
  readonly madePoint: { readonly id: string };
}

/** Draws the preview of an action into a place. @param done called when it was carried out */
export function restorePreview(
  place: HTMLElement,
  repoPath: string,
  action: RestoreAction,
  done: () => void,
  told?: string,
): void {
  fill(place, h("p", { class: "muted", role: "status" }, "Working out what would happen …"));
  const ask1 = async () => {
    if (action.kind === "apply") {
      const { preview } = await ask<{ preview: RestorePreview }>("POST", "restore/preview", {
        repoPath,
        id: action.id,
      });
      return { preview, operation: null };
    }
    return await ask<{ preview: RestorePreview; operation: RestorePoint }>(
      "POST",
      "restore/preview",
      { repoPath, direction: action.kind },
    );
  };
  ask1().then(({ preview, operation }) => {
    draw(place, repoPath, action, preview, operation, done, told);
  }, (error) => fill(place, h("p", { class: "notes blocker", role: "alert" }, messageOf(error))));
}

const VERBS = { undo: "Undo", redo: "Redo", apply: "Go back" } as const;

function draw(
  place: HTMLElement,
  repoPath: string,
  action: RestoreAction,
  preview: RestorePreview,
  operation: RestorePoint | null,
  done: () => void,
  told?: string,
): void {
  const message = h("p", { class: "decision-message", role: "status" });
  const verb = VERBS[action.kind];
  const go = button(verb, "restore", {
    class: "approve",
    disabled: preview.blockers.length > 0 || preview.nothingToDo,
  });
  go.addEventListener("click", async () => {
    go.disabled = true;
    message.textContent = "Working …";
    try {
      const result = await ask<Applied>("POST", `restore/${action.kind}`, {
        repoPath,
        digest: preview.digest,
        ...(action.kind === "apply" ? { id: action.id } : {}),
      });
      const text = result.verified
        ? "Done, and compared with the restore point: it is the same."
        : `Done, but these differ from the restore point: ${
          result.differences.slice(0, 5).join(", ")
        }`;
      say(text);
      fill(
        place,
        h(
          "p",
          { class: result.verified ? "notes good" : "notes warning" },
          text,
          " A restore point of what was there before was made first.",
        ),
        button("Show the history", null, { class: "small", onclick: done }),
      );
    } catch (error) {
      if (error instanceof ApiError && error.code === "restore_stale") {
        return restorePreview(
          place,
          repoPath,
          action,
          done,
          "The repository changed since: look at it again.",
        );
      }
      go.disabled = false;
      fill(message, messageOf(error));
    }
  });
  const title = h(
    "h3",
    { tabindex: "-1" },
    operation ? `${verb}: ${operationName(operation.operation)}` : "Going back to before this",
  );
  fill(
    place,
    h(
      "section",
      { class: "restore-preview" },
      title,
      told ? h("p", { class: "notes warning", role: "alert" }, told) : null,
      preview.blockers.map((blocker) =>
        h(
          "div",
          { class: "notes blocker", role: "alert" },
          h("p", {}, icon("stop"), " ", blocker.message),
          h("ul", { class: "paths" }, blocker.first.map((path) => h("li", {}, ident(path)))),
        )
      ),
      preview.nothingToDo
        ? h("p", { class: "notes good" }, "Everything is already as it was then.")
        : null,
      facts([
        ["HEAD", [
          oid(preview.head.from.oid, "no commit"),
          headName(preview.head.from.ref),
          h("span", { class: "arrow" }, " → "),
          oid(preview.head.to.oid, "no commit"),
          headName(preview.head.to.ref),
        ]],
        ...namedFact("Files created again", preview.files.created),
        ...namedFact("Files overwritten", preview.files.overwritten),
        ...namedFact("Files removed", preview.files.removed),
        ...namedFact("Files left alone, not known to the point", preview.files.left),
        ...(preview.index === "changes"
          ? [["What is staged", "becomes what it was"] as const]
          : []),
        ...(preview.stash.changes ? [["Stash", "becomes what it was"] as const] : []),
        ...(preview.commitsLeftBehind
          ? [
            [
              "Commits left behind",
              `${preview.commitsLeftBehind}; the restore point made first keeps them`,
            ] as const,
          ]
          : []),
        ...(preview.refsLeftTotal > 0
          ? [
            [
              "Refs that stay",
              `${preview.refsLeftTotal}: ${
                preview.refsLeft.slice(0, 3).map((ref) => `${ref.ref} (${ref.reason})`).join(", ")
              }`,
            ] as const,
          ]
          : []),
      ]),
      preview.refs.length > 0 ? refs(preview.refs, preview.refsTotal) : null,
      touchesFiles(preview) ? changes(repoPath, preview) : null,
      h(
        "div",
        { class: "buttons" },
        go,
        button("Close", null, { onclick: () => place.replaceChildren() }),
        message,
      ),
    ),
  );
  title.focus();
}

function touchesFiles({ files }: RestorePreview): boolean {
  return files.created.count + files.overwritten.count + files.removed.count > 0;
}

/** The diff of a preview, fetched beside it; of another state of the repository it is not shown. */
function changes(repoPath: string, preview: RestorePreview): HTMLElement {
  const place = h("div", {}, h("p", { class: "muted" }, "Comparing files …"));
  ask<{ digest: string; text: string | null; truncated: boolean }>("POST", "restore/diff", {
    repoPath,
    id: preview.pointId,
  }).then(({ digest, text, truncated }) => {
    if (digest !== preview.digest) {
      return fill(
        place,
        h("p", { class: "notes warning" }, "The repository changed since: open the preview again."),
      );
    }
    fill(
      place,
      text ? diffView(parseDiff(text), { heading: "What happens to your files" }) : null,
      truncated
        ? h("p", { class: "notes warning" }, "The changes are longer than is shown here.")
        : null,
    );
  }, () => fill(place, h("p", { class: "muted" }, "The changes of files cannot be shown.")));
  return place;
}

function headName(ref: string | null): Child {
  return [" ", ident(ref === null ? "(detached)" : refName(ref))];
}

function namedFact(title: string, named: Named): (readonly [string, Child])[] {
  if (named.count === 0) return [];
  return [[
    title,
    h(
      "div",
      {},
      count(named.count, "file"),
      longList(named.first, 5, (path) => h("li", {}, ident(path)), { class: "paths" }, "names"),
    ),
  ]];
}
