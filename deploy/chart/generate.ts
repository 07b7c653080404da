import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import * as z from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { Values } from './values.ts';

/** What is used here of JSON Schema. */
interface Schema {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  properties?: Record<string, Schema>;
}

const FOLDER = new URL('../', import.meta.url);
const HEADER = '# Generated from deploy/chart/values.ts by deploy/chart/generate.ts.\n';

const schema = z.toJSONSchema(Values, { target: 'draft-7', io: 'input' }) as Schema;

function describe({ description = '', enum: of = [] }: Schema): string {
  const isDocumented = of.every((one) => description.includes(one));
  return isDocumented ? description : `${description}; one of ${of.join(', ')}`;
}

/** `values.yaml`: each value with its default, below what it means. */
function commented({ properties = {} }: Schema, indent = ''): string {
  const lines = Object.entries(properties).map(([name, inner]) => {
    const text = describe(inner).replaceAll(/\[([^\]]*)\]\(\.\.\/([^)]*)\)/g, '$1 ($2)');
    const comment = text === '' ? '' : `${indent}# ${text}\n`;
    if (inner.properties === undefined) {
      // What has no default is there to be seen.
      const [prefix, value] = inner.default === undefined ? ['# ', ''] : ['', inner.default];
      const written = stringify({ [name]: value }, { lineWidth: 0 })
        .trimEnd()
        .replaceAll('\n', `\n${indent}`);
      return `${comment}${indent}${prefix}${prefix === '' ? written : `${name}:`}\n`;
    }
    const below = commented(inner, `${indent}  `);
    const isEmpty = Object.values(inner.properties).every(
      (one) => one.default === undefined && one.properties === undefined,
    );
    return `${comment}${indent}${name}:${isEmpty ? ' {}' : ''}\n${below}`;
  });
  return lines.join(indent === '' ? '\n' : '');
}

const chart = {
  apiVersion: 'v2',
  name: packageJson.name,
  version: packageJson.version,
  appVersion: packageJson.version,
  description: packageJson.description,
  type: 'application',
  kubeVersion: '>=1.27.0-0',
  keywords: ['kubevirt', 'virtual-machines', 'temporal'],
};

/**
 * Returns what is made of the chart's values and of package.json, by file name. `node deploy/chart/generate.ts` writes
 * it.
 */
export function generateChart(): Map<string, string> {
  return new Map([
    ['Chart.yaml', HEADER + stringify(chart)],
    ['values.yaml', `${HEADER}\n${commented(schema)}`],
    ['values.schema.json', `${JSON.stringify(schema, null, 2)}\n`],
  ]);
}

if (import.meta.main) for (const [name, text] of generateChart()) writeFileSync(new URL(name, FOLDER), text);
