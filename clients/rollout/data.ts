import { print } from '../cli/output.ts';

export type DataFormat = 'json' | 'yaml';

/** Prints what is no object of Kubernetes, for a program to read. */
export async function printData(data: unknown, format: DataFormat): Promise<void> {
  if (format === 'json') return print(JSON.stringify(data, null, 4));
  const { stringify } = await import('yaml');
  print(stringify(data, { indentSeq: false, lineWidth: 0, version: '1.1', aliasDuplicateObjects: false }).trimEnd());
}
