/**
 * Output of hooks and remotes goes back to the agent when an operation fails; what plainly is a secret
 * is taken out first (`security.md` P-19). Not a promise: a hook can print anything in any form.
 */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
    "(private key left out)",
  ],
  [/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]{1,512}@/gi, "$1…@"],
  [
    /\b(?:gh[opsur]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,255}|xox[abeprs]-[\w-]{10,255}|AKIA[A-Z0-9]{16}|sk-[\w-]{20,255}|npm_[A-Za-z0-9]{20,255})/g,
    "(token left out)",
  ],
  [/\b(bearer|basic)[ \t]+[A-Za-z0-9+/=._~-]{8,4096}/gi, "$1 (left out)"],
  [
    /([\w.-]{0,60}(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|credential)[\w.-]{0,60}["']?[ \t]{0,4}[=:][ \t]{0,4})(?:"[^"\n]{1,4096}"|'[^'\n]{1,4096}'|[^\s"',;]{1,4096})/gi,
    "$1(left out)",
  ],
];

/** The text without URLs' credentials, keys, tokens, and values that are named like secrets. */
export function redact(text: string): string {
  return SECRETS.reduce((left, [pattern, word]) => left.replace(pattern, word), text);
}
