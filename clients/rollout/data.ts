import { print } from '../cli/output.ts';

export type DataFormat = 'json' | 'yaml';

/** Prints data other than Kubernetes objects, for programs to read. */
export async function printData(data: unknown, format: DataFormat): Promise<void> {
  if (format === 'json') return print(JSON.stringify(data, null, 4));
  const { stringify } = await import('yaml');
  print(stringify(data, { indentSeq: false, lineWidth: 0, version: '1.1', aliasDuplicateObjects: false }).trimEnd());
}
