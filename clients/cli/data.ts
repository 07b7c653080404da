import { print } from './print.ts';

export type DataFormat = 'json' | 'yaml';

/** Prints data other than Kubernetes objects, for programs to read. */
export async function printData(data: unknown, format: DataFormat): Promise<void> {
  if (format === 'json') return print(JSON.stringify(data, null, 4));
  const { stringify } = await import('yaml');
  print(stringify(data, { indentSeq: false, lineWidth: 0, version: '1.1', aliasDuplicateObjects: false }).trimEnd());
}

/** Prints what was asked for by one name as it is, and anything else as `items`. */
export const printItems = (
  data: readonly unknown[],
  format: DataFormat,
  { isOne }: { isOne: boolean },
): Promise<void> => printData(isOne ? data[0] : { items: data }, format);
