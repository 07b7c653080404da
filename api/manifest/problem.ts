import { plainText } from '../lib/plain-text.ts';

/** A problem with a manifest, and its place. */
export interface Problem {
  /** The file's name as the user gave it. */
  source: string;
  /** Counted from 1; 0 for the file as a whole. */
  document: number;
  line?: number;
  column?: number;
  /** Path of the field, such as `spec.replicas`; empty for the document as a whole. */
  path: string;
  /** What is wrong, and what would be right. */
  message: string;
}

/** All problems of the manifests that were read. Its message has one line per problem. */
export class ManifestErrors extends Error {
  override readonly name = 'ManifestErrors';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const shown = problems.map(shownPlainly);
    super(shown.map(asText).join('\n'));
    this.problems = shown;
  }

  override toString(): string {
    return this.message;
  }
}

/** Problems quote values and keys of the manifest, which may hold anything. */
const shownPlainly = (problem: Problem): Problem => ({
  ...problem,
  source: plainText(problem.source),
  path: plainText(problem.path),
  message: plainText(problem.message),
});

/** `pools.yaml:12 (document 2): spec.replica: …` */
function asText({ source, document, line, column, path, message }: Problem): string {
  const location = [source, line, column].filter((part) => part !== undefined).join(':');
  const within = document === 0 ? location : `${location} (document ${document})`;
  return path === '' ? `${within}: ${message}` : `${within}: ${path}: ${message}`;
}

/**
 * Formats a path like `spec.windows[0].cron`; keys with other characters are quoted:
 * `metadata.labels["example.com/app"]`.
 */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`;
    else text += `[${JSON.stringify(String(part))}]`;
  }
  return text;
}

/** A path among other words, as the API server and drover's own notes name fields. */
const PATH = /\b(?:spec|metadata|status)(?:\.[A-Za-z_][\w-]*|\[\d+\])*/;

/** Returns the parts of the first path in a sentence; empty if it names no field. */
export function pathIn(sentence: string): PropertyKey[] {
  const match = PATH.exec(sentence)?.[0] ?? '';
  return [...match.matchAll(/[\w-]+/g)].map(([part]) => (/^\d+$/.test(part) ? Number(part) : part));
}
