import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { formatChange, formatHalt } from '../../../clients/rollout/outlook.ts';
import { poolDiff } from '../../../clients/rollout/revisions/diff.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { poolWith, templateOf } from './pools.ts';

const noCluster = {} as KubeClient;
const stage = { vmRolloutStrategy: 'Stage' as const };
const ten = { status: { replicas: 10 } };

test('a change of the template tells how many VMs it reaches, and what it takes', async () => {
  const before = poolWith({ ...ten, spec: { ...stage, template: templateOf(1) } });
  const after = poolWith({ ...ten, spec: { ...stage, template: templateOf(2) } });
  expect(await formatChange(noCluster, before, after)).toEqual([
    'pool web: the template would be rolled out to 10 VMs: Restart: VMIs are restarted',
  ]);
});

test('a change of the number alone tells how many VMs come or go', async () => {
  const [ten, nine] = [10, 9].map((replicas) => poolWith({ spec: { ...stage, replicas } }));
  expect(await formatChange(noCluster, ten!, nine!)).toEqual(['pool web: 1 VM would be removed, 10 to 9']);
  expect(await formatChange(noCluster, nine!, ten!)).toEqual(['pool web: 1 VM would be added, 9 to 10']);
  expect(await formatChange(noCluster, ten!, ten!)).toEqual([]);
});

test('a template that was rolled back is told as such, with the reason and the way to try it again', () => {
  const halted = { kind: 'Undoing', by: 'drover', at: '2026-01-01T00:00:00Z', why: 'web-2: too slow' } as const;
  expect(formatHalt(poolWith({ rollout: { halted } }))).toBe(
    'pool web: this template was rolled back, by drover: web-2: too slow; `drover rollout resume pool web` rolls it out again',
  );
});

test('of a template that goes on, or is another than the one that was rolled back, nothing of the kind is said', () => {
  const halted = { kind: 'Undoing', by: 'drover', at: '2026-01-01T00:00:00Z' } as const;
  expect(formatHalt(poolWith())).toBeUndefined();
  expect(formatHalt(poolWith({ spec: { template: templateOf(3) }, rollout: { halted } }))).toBeUndefined();
});

test('the diff of a pool has the lines of its spec that change, and acts on no terminal', () => {
  const before = poolWith({ spec: { replicas: 3 } });
  const after = poolWith({ spec: { replicas: 4, template: templateOf(2, { note: 'a\u001B[31mb' }) } });
  const lines = poolDiff('pool/web', before, after).map(stripVTControlCharacters);
  expect(lines).toEqual(
    expect.arrayContaining(['--- pool/web now', '+++ pool/web as the manifest says', '-replicas: 3', '+replicas: 4']),
  );
  expect(poolDiff('pool/web', before, before)).toEqual([]);
  expect(poolDiff('pool/web', undefined, before)[0]).toContain('pool/web does not exist yet');
});
