import type { Stored } from '../../api/objects.ts';

/** What drover caches of the metadata of a Secret or ConfigMap. */
export interface ContentView {
  namespace: string;
  name: string;
  uid: string;
  version: bigint;
  /** When a user who has written some of its content last wrote to it; milliseconds since the epoch. */
  writtenAt: number;
  /** The keys of its content. */
  keys: string;
}

interface ManagedFields {
  time?: string;
  fieldsV1?: Record<string, Record<string, unknown> | undefined>;
}

const CONTENT = ['f:data', 'f:binaryData', 'f:stringData'];

/** Reads the API server's record of the writers of fields, and their times. */
export function contentView({ metadata }: Stored): ContentView {
  const { namespace = '', name, uid, resourceVersion, creationTimestamp } = metadata;
  const times = [Date.parse(creationTimestamp)];
  const keys = new Set<string>();
  for (const { time, fieldsV1 = {} } of (metadata.managedFields ?? []) as ManagedFields[]) {
    const written = CONTENT.flatMap((field) => Object.keys(fieldsV1[field] ?? {}).map((key) => `${field}/${key}`));
    if (written.length === 0) continue;
    if (time !== undefined) times.push(Date.parse(time));
    for (const key of written) keys.add(key);
  }
  return {
    namespace,
    name,
    uid,
    version: BigInt(resourceVersion),
    writtenAt: Math.max(...times),
    keys: [...keys].sort().join(),
  };
}
