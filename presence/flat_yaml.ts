/**
 * Top-level `key: value` lines of a YAML file, and no more of YAML: whatever is not surely one plain
 * value is left out. A repeated key keeps the last value that could be read.
 */
export function flatYaml(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const raw of text.split("\n")) {
    const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    const match = /^([^\s#:'"-][^:]*):(?:[ \t]+(.*))?$/.exec(line);
    const value = match ? scalar((match[2] ?? "").trim()) : null;
    if (match && value !== null) values.set(match[1]!.trim(), value);
  }
  return values;
}

/** The text of a value; null when it is empty or of a kind that is not read. */
export function scalar(value: string): string | null {
  if (value === "" || /^[|>[{&*!%@`]/.test(value)) return null;
  if (value.startsWith("'")) {
    const end = value.lastIndexOf("'");
    return end > 0 ? value.slice(1, end).replaceAll("''", "'") : null;
  }
  if (value.startsWith('"')) {
    const inner = /^"((?:[^"\\]|\\[\\"/])*)"/.exec(value)?.[1];
    return inner === undefined ? null : inner.replace(/\\([\\"/])/g, "$1");
  }
  const plain = value.replace(/[ \t]#.*$/, "").trim();
  return plain === "" ? null : plain;
}
