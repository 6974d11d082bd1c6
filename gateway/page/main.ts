import { hasSession, messageOf, rememberedSession, signIn, signOut, whenSignedOut } from "./api.ts";
import { fill } from "./dom.ts";
import { Desk } from "./desk.ts";
import { signInView } from "./sign_in.ts";

/** Opens the door, then the desk. The link's secret leaves the address bar before anything else. */

const FOREIGN =
  "This window's session is of another run of the gateway, or was ended. Sign in again.";

async function open(): Promise<void> {
  const secret = /^#([A-Za-z0-9_-]{43})$/.exec(location.hash)?.[1];
  if (secret !== undefined) history.replaceState(null, "", "/");
  whenSignedOut(() => door(FOREIGN));
  if (secret !== undefined) {
    try {
      await signIn({ link: secret });
      return desk();
    } catch (error) {
      // A window that is signed in already needs no second use of its link.
      if (rememberedSession()) return desk();
      return door(`${messageOf(error)}.`);
    }
  }
  if (rememberedSession()) return desk();
  door(null);
}

let current: Desk | null = null;

function door(why: string | null): void {
  current?.close();
  current = null;
  document.title = "Sign in · Approvals";
  document.documentElement.dataset["view"] = "door";
  fill(place("top"));
  fill(place("main"), signInView(why, desk));
  document.getElementById("code")?.focus();
}

function desk(): void {
  if (!hasSession()) return door(null);
  document.documentElement.dataset["view"] = "desk";
  current?.close();
  current = new Desk(place("top"), place("main"), async () => {
    await signOut();
    door("You signed out in this window.");
  });
}

function place(id: string): HTMLElement {
  return document.getElementById(id)!;
}

void open();
