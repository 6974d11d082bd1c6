import type { Store } from "../store.ts";
import { aider } from "./aider.ts";
import { amp } from "./amp.ts";
import { claudeCode } from "./claude_code.ts";
import { cline } from "./cline.ts";
import { codex } from "./codex.ts";
import { continueDev } from "./continue.ts";
import { copilotCli } from "./copilot_cli.ts";
import { crush } from "./crush.ts";
import { cursorAgent } from "./cursor_agent.ts";
import { cursor, vscode, windsurf } from "./editors.ts";
import { geminiCli } from "./gemini_cli.ts";
import { goose } from "./goose.ts";
import { kilo } from "./kilo.ts";
import { opencode } from "./opencode.ts";
import { qwenCode } from "./qwen_code.ts";
import { zed } from "./zed.ts";

/** Every store, in the order in which they are asked (`presence.md` 2.3). A new one is one more file. */
export const STORES: readonly Store[] = [
  claudeCode,
  codex,
  aider,
  crush,
  geminiCli,
  opencode,
  kilo,
  goose,
  cline,
  zed,
  qwenCode,
  copilotCli,
  continueDev,
  amp,
  cursorAgent,
  cursor,
  windsurf,
  vscode,
];
