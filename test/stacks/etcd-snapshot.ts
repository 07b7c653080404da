import { join } from 'node:path';
import { Client } from 'undici';

/** A key of etcd, in base64, with the revision that wrote it last, as etcd's JSON gateway has them. */
interface Key {
  key: string;
  mod_revision: string;
}

interface Entry extends Key {
  /** In base64. */
  value: string;
}

/** kube-apiserver renews its own leases; what the snapshot says of them is old. */
const LEASES = '/registry/leases/';
const ALL = { key: base64('/registry/'), range_end: base64('/registry0') };
/** etcd takes at most 128 operations in a transaction. */
const OPERATIONS = 100;

/**
 * What an API server holds at one moment. Restoring it takes milliseconds, where a new API server takes seconds of CPU;
 * the API server learns of it as of any other change.
 */
export class EtcdSnapshot {
  readonly #etcd: Client;
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(etcd: Client, entries: ReadonlyMap<string, Entry>) {
    this.#etcd = etcd;
    this.#entries = entries;
  }

  /** Takes a snapshot of the stack with this data folder. */
  static async take(data: string): Promise<EtcdSnapshot> {
    const etcd = new Client('http://localhost', { socketPath: join(data, 'etcd.sock:0') });
    return new EtcdSnapshot(etcd, await allOf<Entry>(etcd));
  }

  /** Deletes what was created since, and writes again what was changed or deleted. */
  async restore(): Promise<void> {
    const now = await keysOf(this.#etcd);
    const created = [...now.keys()].filter((key) => !this.#entries.has(key));
    const changed = [...this.#entries.values()].filter(
      ({ key, mod_revision }) => now.get(key)?.mod_revision !== mod_revision,
    );
    const operations = [
      ...created.map((key) => ({ request_delete_range: { key } })),
      ...changed.map(({ key, value }) => ({ request_put: { key, value } })),
    ];
    for (let from = 0; from < operations.length; from += OPERATIONS)
      await ask(this.#etcd, 'txn', { success: operations.slice(from, from + OPERATIONS) });
    const after = await keysOf(this.#etcd);
    for (const entry of this.#entries.values()) entry.mod_revision = after.get(entry.key)!.mod_revision;
  }

  close(): Promise<void> {
    return this.#etcd.close();
  }
}

/** Without the values, which are most of what etcd holds. */
const keysOf = (etcd: Client): Promise<Map<string, Key>> => allOf<Key>(etcd, { keys_only: true });

async function allOf<T extends Key>(etcd: Client, options: { keys_only?: true } = {}): Promise<Map<string, T>> {
  const { kvs = [] } = (await ask(etcd, 'range', { ...ALL, ...options })) as { kvs?: T[] };
  const entries = kvs.filter(({ key }) => !Buffer.from(key, 'base64').toString().startsWith(LEASES));
  return new Map(entries.map((entry) => [entry.key, entry]));
}

async function ask(etcd: Client, call: 'range' | 'txn', request: object): Promise<unknown> {
  const { statusCode, body } = await etcd.request({
    method: 'POST',
    path: `/v3/kv/${call}`,
    body: JSON.stringify(request),
  });
  const answer = await body.text();
  if (statusCode !== 200) throw new Error(`etcd answered ${call} with ${statusCode}: ${answer}`);
  return JSON.parse(answer);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
