import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { expect, onTestFinished, test } from 'vitest';
import { followRenewals, type Adoption } from '../../workers/connection/renewed-credentials.ts';

/** Looks at what is found, in this order, and returns what was adopted. */
async function adopted(
  found: readonly unknown[],
  adopt: (config: unknown) => Adoption = () => 'adopted',
): Promise<unknown[]> {
  const all: unknown[] = [];
  let count = 0;
  const stop = new AbortController();
  const read = (): unknown => {
    const one = found[count++];
    if (count > found.length) stop.abort();
    if (one instanceof Error) throw one;
    return one;
  };
  const renewals = followRenewals({
    signal: stop.signal,
    everyMs: 1,
    read,
    used: 'a',
    adopt: (config) => {
      all.push(config);
      return Promise.resolve(adopt(config));
    },
  });
  await renewals.catch((error: Error) => {
    if (error.name !== 'AbortError') throw error;
  });
  return all;
}

test('a renewed certificate is adopted once two reads agree, each time', async () => {
  expect(await adopted(['a', 'a', 'b', 'b', 'b'])).toEqual(['b']);
  // A new certificate beside the old key, and then both.
  expect(await adopted(['a', 'half', 'b', 'b', 'b', 'c', 'c', 'c'])).toEqual(['b', 'c']);
});

test('a file that is unchanged, or cannot be read for a while, changes nothing', async () => {
  expect(await adopted(['a', 'a', 'a'])).toEqual([]);
  expect(await adopted(['a', new Error('gone'), new Error('gone'), 'a', 'b', 'a'])).toEqual([]);
});

const refuseBad = (config: unknown): Adoption => (config === 'bad' ? 'refused' : 'adopted');

test('a certificate that Temporal refuses is tried again until it is corrected', async () => {
  expect(await adopted(['bad', 'bad', 'bad', 'good', 'good', 'good'], refuseBad)).toEqual(['bad', 'bad', 'good']);
  expect(await adopted(['bad', 'bad', 'a', 'a'], refuseBad)).toEqual(['bad']);
});

test('a change that only a new process can use ends the worker', async () => {
  expect(await adopted(['b', 'b', 'c', 'c'], () => 'restart')).toEqual(['b']);
});

const restart = (): Promise<Adoption> => Promise.resolve('restart');

test("the files are those that Temporal's variables name", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'drover-renewed-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  for (const file of [cert, key]) writeFileSync(file, 'first');
  const overrideEnvVars = { TEMPORAL_TLS_CLIENT_CERT_PATH: cert, TEMPORAL_TLS_CLIENT_KEY_PATH: key };
  const read = (): unknown => loadClientConnectConfig({ overrideEnvVars });
  const { signal } = new AbortController();
  const renewed = followRenewals({ signal, everyMs: 5, read, used: read(), adopt: restart });
  writeFileSync(cert, 'second');
  await expect(renewed).resolves.toBeUndefined();
});
