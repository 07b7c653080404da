import { mkdirSync, writeFileSync } from 'node:fs';
import { droverCrds } from '../api/crd/crds.ts';
import type { CustomResourceDefinition } from '../api/crd/definition.ts';
import type { StructuralSchema } from '../api/crd/structural-schema.ts';

const HEADER = '<!-- Generated from the schemas in api/ by deploy/generate-reference.ts. -->\n';

const INTRODUCTION = `# API reference

All fields of drover's kinds, as \`kubectl explain\` has them. The other pages of the documentation say what they are
for: [pools](../pools.md), [replica sets](../replica-sets.md), [operations and schedules](../operations.md),
[disruption budgets](../budgets.md).

A path such as \`spec.rollout.steps[].to\` goes through lists (\`[]\`) and maps (\`{}\`). A field without a default is
optional, and does nothing if it is left out.
`;

/** What is used here of a schema. */
interface Field extends StructuralSchema {
  description?: string;
  pattern?: string;
  enum?: (string | boolean)[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  format?: string;
  required?: string[];
  'x-kubernetes-validations'?: { message: string }[];
  properties?: Record<string, Field>;
  additionalProperties?: Field;
  items?: Field;
}

interface Row {
  path: string;
  type: string;
  /** Empty if there is none. */
  byDefault: string;
  meaning: string;
}

const ended = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
const sentence = (text: string): string => text[0]!.toUpperCase() + ended(text).slice(1);

const rulesOf = (schema: Field): string[] => (schema['x-kubernetes-validations'] ?? []).map(({ message }) => message);

function between(least: number | undefined, most: number | undefined, what: string): string[] {
  if (least !== undefined && most !== undefined) return [`${least} to ${most}${what}`];
  if (least !== undefined) return [`at least ${least}${what}`];
  return most === undefined ? [] : [`at most ${most}${what}`];
}

function boundsOf(schema: Field): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, maxProperties, pattern } = schema;
  return [
    ...between(minimum, maximum, ''),
    ...between(minLength, maxLength, ' characters'),
    ...between(minItems, maxItems, ' items'),
    ...between(undefined, maxProperties, ' entries'),
    ...(pattern === undefined ? [] : [`\`${pattern}\``]),
  ];
}

const innerOf = (schema: Field): Field =>
  schema.items ?? (schema.additionalProperties === undefined ? schema : schema.additionalProperties);

function typeOf(schema: Field): string {
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  if (schema.additionalProperties !== undefined) return `map of ${typeOf(schema.additionalProperties)}`;
  const values = schema.enum;
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (schema['x-kubernetes-int-or-string'] === true) return 'integer or string';
  return schema.format === 'date-time' ? 'time' : (schema.type ?? 'any');
}

/** The default that a description tells, such as `25% by default` or `Random, the default`. */
const defaultIn = (description: string): string =>
  /(?:^|[.:;] )(No limit|[\w%.]+) by default\b/.exec(description)?.[1] ??
  /\b(\w+), the default\b/.exec(description)?.[1] ??
  '';

/** Yields a row for each field below a schema. Fields of the same shape are described once. */
function* rowsBelow(schema: Field, at: string, documented: Map<string, string>): Generator<Row> {
  const required = new Set(schema.required);
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const path = `${at}.${name}`;
    const inner = innerOf(field);
    const below =
      path + (field.items === undefined ? '' : '[]') + (field.additionalProperties === undefined ? '' : '{}');
    const shape = JSON.stringify(inner.properties);
    const before = documented.get(shape);
    const description = field.description ?? inner.description ?? '';
    const rules = [field, ...(inner === field ? [] : [inner])].flatMap(rulesOf);
    const bounds = [field, ...(inner === field ? [] : [inner])].flatMap(boundsOf);
    const same = before === undefined || inner.properties === undefined ? [] : [`Fields as those of \`${before}\`.`];
    yield {
      path,
      type: [typeOf(field), ...bounds].join(', '),
      byDefault: required.has(name) ? '**required**' : defaultIn(description),
      meaning: [description, ...rules.map(sentence), ...same].filter((one) => one !== '').join(' '),
    };
    if (same.length > 0 || inner.properties === undefined) continue;
    documented.set(shape, below);
    yield* rowsBelow(inner, below, documented);
  }
}

const escaped = (text: string): string => text.replaceAll('<', '&lt;');
const cell = (text: string): string =>
  escaped(text)
    .replaceAll('|', String.raw`\|`)
    .replaceAll('\n', ' ');

const table = (rows: Iterable<Row>): string =>
  ['| field | type | default | |', '|---|---|---|---|']
    .concat(
      [...rows].map(
        ({ path, type, byDefault, meaning }) =>
          `| \`${path}\` | ${cell(type)} | ${cell(byDefault)} | ${cell(meaning)} |`,
      ),
    )
    .join('\n');

const descriptionOf = ({ spec }: CustomResourceDefinition): string =>
  (spec.versions[0]!.schema.openAPIV3Schema as Field).description!;

function pageOf(crd: CustomResourceDefinition): string {
  const { group, scope, names, versions } = crd.spec;
  const { name: version, schema, additionalPrinterColumns: columns } = versions[0]!;
  const root = schema.openAPIV3Schema as Field;
  const documented = new Map<string, string>();
  const [spec, status] = ['spec', 'status'].map((part) => table(rowsBelow(root.properties![part]!, part, documented)));
  const rules = [...rulesOf(root), ...rulesOf(root.properties!['spec']!)].map((rule) => `- ${escaped(ended(rule))}\n`);
  return `${HEADER}
# ${names.kind}

${descriptionOf(crd)} \`apiVersion: ${group}/${version}\`, ${scope === 'Cluster' ? 'in no namespace' : 'in a namespace'};
for kubectl also ${names.shortNames.map((name) => `\`${name}\``).join(' and ')}.

## Spec

${spec}
${rules.length === 0 ? '' : `\n${rules.join('')}`}
## Status

Written by drover.

${status}

## Columns of \`kubectl get\`

| column | | |
|---|---|---|
${columns
  .map(({ name, jsonPath, description = '' }) => `| ${name} | \`${jsonPath}\` | ${cell(description)} |`)
  .join('\n')}
`;
}

const fileOf = ({ spec }: CustomResourceDefinition): string => `${spec.names.singular}.md`;

/** The pages of the API reference, by file name. `node deploy/generate-reference.ts` writes them. */
export function referenceFiles(): Map<string, string> {
  const crds = droverCrds();
  const list = crds.map((crd) => `| [${crd.spec.names.kind}](${fileOf(crd)}) | ${descriptionOf(crd)} |`);
  const index = `${HEADER}\n${INTRODUCTION}\n| kind | |\n|---|---|\n${list.join('\n')}\n`;
  return new Map([['README.md', index], ...crds.map((crd): [string, string] => [fileOf(crd), pageOf(crd)])]);
}

export const REFERENCE_FOLDER = new URL('../docs/reference/', import.meta.url);

if (import.meta.main) {
  mkdirSync(REFERENCE_FOLDER, { recursive: true });
  for (const [name, text] of referenceFiles()) writeFileSync(new URL(name, REFERENCE_FOLDER), text);
}
