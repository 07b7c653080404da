import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { etcd } from '../../../dev/services/etcd.ts';
import { temporal } from '../../../dev/services/temporal.ts';

let data = '';

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'drover-first-start-'));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
});

const servers = {
  temporal: {
    spec: (ephemeral: boolean) => temporal({ binary: 'none', data, port: 1, uiPort: 2, ephemeral }),
    fill: () => {
      for (const name of ['temporal.db', 'temporal.db-journal']) writeFileSync(join(data, name), 'something');
    },
  },
  etcd: {
    spec: (ephemeral: boolean) => etcd({ binary: 'none', data, ephemeral }),
    fill: () => {
      mkdirSync(join(data, 'etcd', 'member', 'wal'), { recursive: true });
      writeFileSync(join(data, 'etcd', 'member', 'wal', '0.wal'), 'something');
    },
  },
};

const held = (): string[] => readdirSync(data).sort();

test.each(Object.entries(servers))('%s starts again if its first start was cut off', (_, { spec, fill }) => {
  const { beforeStart } = spec(false);
  beforeStart!();
  const empty = held();
  fill();
  beforeStart!();
  expect(held()).toEqual(empty);
});

test.each(Object.entries(servers))('%s keeps its data once it was ready, however it ends', (_, { spec, fill }) => {
  const { beforeStart, onceReady } = spec(false);
  beforeStart!();
  fill();
  onceReady!();
  const before = held();
  beforeStart!();
  expect(held()).toEqual(before);
});

test.each(Object.entries(servers))('%s keeps the data of an older drover that has no marker', (_, { spec, fill }) => {
  fill();
  const before = held();
  spec(false).beforeStart!();
  expect(held()).toEqual(before);
});

test('a server of an ephemeral stack writes no marker', () => {
  for (const { spec } of Object.values(servers)) spec(true).beforeStart?.();
  expect(existsSync(join(data, 'etcd.unfinished'))).toBe(false);
  expect(held()).toEqual([]);
});
