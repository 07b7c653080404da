import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  visit,
  type Document,
  type Node,
  type ParsedNode,
  type SchemaOptions,
  type YAMLError,
} from 'yaml';

/** One document of a file, with the places of its fields. */
export interface SourceDocument {
  /** Counted from 1, without empty documents. */
  number: number;
  /** Plain JSON; undefined if `faults` says why it could not be read. */
  value: unknown;
  faults: Fault[];
  /** Returns the line of the field at `path`, or of its nearest existing parent. */
  lineOf: (path: readonly PropertyKey[]) => number;
  /** Returns a scalar as it is written, such as `on` for `true`. */
  written: (path: readonly PropertyKey[]) => string | undefined;
}

interface Fault {
  line: number;
  column: number;
  message: string;
}

/**
 * Reads scalars as kubectl does, so that a file means the same to both: `on` and `yes` are true, `0644` is 420. The
 * library's own YAML 1.1 would also convert dates, clock times and the texts `e1`, `e2`, ….
 */
const AS_KUBECTL: SchemaOptions & { version: '1.1' } = {
  version: '1.1',
  customTags: (tags) => [
    ...tags.filter(
      (tag) => typeof tag === 'string' || (!NOT_KUBECTLS.has(tag.tag) && tag.format !== 'TIME' && tag.format !== 'EXP'),
    ),
    'floatExp',
    'intOct',
  ],
};
const NOT_KUBECTLS = new Set(
  ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`),
);

/**
 * Reads a YAML or JSON text that is one value, null if it is empty. `fault`: why it is not one, in a sentence without a
 * full stop, with the line.
 */
export function singleDocument(text: string): { value: unknown } | { fault: string } {
  const [document, second] = readDocuments(text);
  if (document === undefined) return { value: null };
  const [fault] = document.faults;
  if (fault !== undefined) return { fault: `line ${fault.line}: ${fault.message}` };
  return second === undefined
    ? { value: document.value }
    : { fault: `line ${second.lineOf([])}: it must be one document, without ---` };
}

/** Reads the documents of a YAML or JSON text. Leaves out documents that are empty or hold only comments. */
export function readDocuments(text: string): SourceDocument[] {
  const lines = new LineCounter();
  try {
    return documentsIn(text, lines);
  } catch (error) {
    // The parser is recursive: a text may be nested deeper than its stack.
    if (error instanceof RangeError) return [unreadable(TOO_DEEP)];
    throw error;
  }
}

const TOO_DEEP = 'this is nested too deep to be read';

const unreadable = (message: string): SourceDocument => ({
  number: 1,
  value: undefined,
  faults: [{ line: 1, column: 1, message }],
  lineOf: () => 1,
  written: () => undefined,
});

function documentsIn(text: string, lines: LineCounter): SourceDocument[] {
  const documents = parseAllDocuments(text, { ...AS_KUBECTL, lineCounter: lines, prettyErrors: false });
  if (!Array.isArray(documents)) return [];
  return documents
    .filter(
      (document) => document.errors.length > 0 || (document.contents !== null && !isEmptyScalar(document.contents)),
    )
    .map((document, index) => sourceDocument(document, index + 1, lines));
}

const isEmptyScalar = (node: ParsedNode): boolean =>
  isScalar(node) && node.value === null && (node.source ?? '') === '';

function sourceDocument(document: Document.Parsed, number: number, lines: LineCounter): SourceDocument {
  const at: At = (offset, message) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col, message };
  };
  const faults = [...syntaxFaults(document, at), ...scalarFaults(document, at)];
  const value = faults.length === 0 ? plainJson(document) : undefined;
  if (value === TOO_MANY_ALIASES)
    faults.push(at(firstOffset(document.contents), 'aliases repeat too much of this document'));
  return {
    number,
    faults,
    value,
    lineOf: (path) => lines.linePos(walk(document, path).offset).line,
    written: (path) => {
      const { node } = walk(document, path);
      return isScalar(node) ? node.source : undefined;
    },
  };
}

type At = (offset: number, message: string) => Fault;

const TOO_MANY_ALIASES = Symbol('too many aliases');

/** In the library an anchor and its aliases share one object: here each gets a copy. */
function plainJson(document: Document.Parsed): unknown {
  try {
    return JSON.parse(JSON.stringify(document.toJS()));
  } catch (error) {
    if (error instanceof ReferenceError) return TOO_MANY_ALIASES;
    throw error;
  }
}

/** Reports all duplicate keys before the first other error, and that error: the rest are mostly its consequences. */
function syntaxFaults(document: Document.Parsed, at: At): Fault[] {
  const errors = [...document.errors, ...document.warnings];
  const first = errors.find((error) => error.code !== 'DUPLICATE_KEY');
  const end = first?.pos[0] ?? Infinity;
  const twice = errors.filter((error) => error.code === 'DUPLICATE_KEY' && error.pos[0] < end);
  return [...twice, ...(first === undefined ? [] : [first])].map((error) =>
    at(error.pos[0], formatSyntax(error, document)),
  );
}

function formatSyntax(error: YAMLError, document: Document.Parsed): string {
  if (error.code === 'DUPLICATE_KEY')
    return `the key ${keyAt(document, error.pos[0])} appears twice in one object: keep one of them`;
  if (error.code === 'TAB_AS_INDENT') return 'a tab indents this line: YAML takes only spaces';
  if (error.code === 'BAD_INDENT' && error.message.startsWith('Flow'))
    return 'a [ or { is not closed before this line, or what it holds is not indented';
  if (error.code === 'BAD_INDENT') return 'this line is indented neither like the one above it nor as a part of it';
  if (error.code === 'BLOCK_AS_IMPLICIT_KEY') {
    return 'a value is followed by more keys: put a text that holds ": " in quotes, or check the indentation of the next line';
  }
  if (/call stack/i.test(error.message)) return TOO_DEEP;
  if (error.message.endsWith('at node end'))
    return 'more follows what ends before this: write --- on its own line between two objects';
  return `invalid YAML: ${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`;
}

function keyAt(document: Document.Parsed, offset: number): string {
  let found = '';
  visit(document, {
    Pair: (_, { key }) => {
      if (isScalar(key) && key.range?.[0] === offset) found = key.source ?? String(key.value);
    },
  });
  return found;
}

/**
 * Finds numbers that would not arrive as written (JavaScript keeps integers up to 2^53), and aliases without an anchor
 * or inside of it.
 */
function scalarFaults(document: Document.Parsed, at: At): Fault[] {
  const faults: Fault[] = [];
  visit(document, {
    Scalar: (_, { value, source, range }) => {
      if (typeof value !== 'number') return;
      if (!Number.isFinite(value)) faults.push(at(range![0], `${source} is not a number that JSON can represent`));
      else if (Number.isInteger(value) && !Number.isSafeInteger(value) && !/[.eE]/.test(source ?? '')) {
        faults.push(
          at(
            range![0],
            `${source} is too long a number to be kept exactly; if a text or a quantity is meant, put it in quotes`,
          ),
        );
      }
    },
    Alias: (_, alias, path) => {
      const anchored = alias.resolve(document);
      if (anchored === undefined)
        faults.push(at(firstOffset(alias), `*${alias.source} repeats nothing: &${alias.source} must come before it`));
      else if (path.includes(anchored))
        faults.push(at(firstOffset(alias), `*${alias.source} stands inside of what it repeats`));
    },
  });
  return faults;
}

/**
 * Returns the node at `path`, and the offset of its field; if it is missing, the offset of its nearest existing parent.
 */
function walk(document: Document.Parsed, path: readonly PropertyKey[]): { node: Node | undefined; offset: number } {
  let node: Node | undefined = resolved(document.contents, document);
  let offset = firstOffset(document.contents);
  for (const part of path) {
    const next = childOf(node, part);
    if (next === undefined) return { node: undefined, offset };
    node = resolved(next.node, document);
    offset = next.offset;
  }
  return { node, offset };
}

function childOf(node: Node | undefined, part: PropertyKey): { node: Node | null; offset: number } | undefined {
  if (isSeq<Node>(node) && typeof part === 'number') {
    const item = node.items[part];
    return item === undefined ? undefined : { node: item, offset: firstOffset(item) };
  }
  if (!isMap<Node, Node | null>(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
  return pair === undefined ? undefined : { node: pair.value, offset: firstOffset(pair.key) };
}

const resolved = (node: Node | null, document: Document): Node | undefined =>
  isAlias(node) ? node.resolve(document) : (node ?? undefined);

const firstOffset = (node: Node | null): number => node?.range?.[0] ?? 0;
