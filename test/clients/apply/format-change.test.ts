import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import {
  CHANGE_CAUSE_ANNOTATION,
  REQUESTED_BY_ANNOTATION,
  REVISION_LABEL,
} from '../../../api/labels-and-annotations.ts';
import { requesterAnnotation } from '../../../api/requested-by.ts';
import type { Resource } from '../../../api/resources.ts';
import { formatChange, formatHalts, formatUnexpected } from '../../../clients/apply/format-change.ts';
import { Pools } from '../../../clients/cli/kinds.ts';
import { specDiff } from '../../../clients/rollout/diff.ts';
import { revisionName } from '../../../decisions/template/revision.ts';
import { ownerReference } from '../../../decisions/template/vm-from-template.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { setWith, VmSets } from '../replica-sets/sets.ts';
import { hashOf, poolWith, templateOf } from '../rollout/pools.ts';

/** A cluster without KubeVirt's own object. */
const noCluster = { list: () => Promise.resolve({ items: [] }) } as unknown as KubeClient;
const stage = { vmRolloutStrategy: 'Stage' as const };
const ten = { status: { replicas: 10 } };

test('a change of the template reports how many VMs it reaches, and how it disrupts them', async () => {
  const before = poolWith({ ...ten, spec: { ...stage, template: templateOf(1) } });
  const after = poolWith({ ...ten, spec: { ...stage, template: templateOf(2) } });
  expect(await formatChange(noCluster, Pools, before, after)).toEqual([
    'pool web: the template would be rolled out to 10 VMs: Restart: VMIs are restarted',
  ]);
});

test('`drain` alone reports that it changes the VMs, and how', async () => {
  const spec = { ...stage, template: templateOf(1) };
  const [without, having] = [poolWith({ ...ten, spec }), poolWith({ ...ten, spec: { ...spec, drain: {} } })];
  const restart = 'Restart: VMIs are restarted';
  expect(await formatChange(noCluster, Pools, without, having)).toEqual([
    `pool web: evictionStrategy External, by \`drain\`, would be rolled out to 10 VMs: ${restart}`,
  ]);
  expect(await formatUnexpected(noCluster, Pools, without, having)).toEqual([
    `pool web: evictionStrategy External, by \`drain\`, is rolled out: ${restart}`,
  ]);
  expect(await formatChange(noCluster, Pools, having, without)).toEqual([
    `pool web: KubeVirt's evictionStrategy, without \`drain\`, would be rolled out to 10 VMs: ${restart}`,
  ]);
  const changed = poolWith({ ...ten, spec: { ...spec, template: templateOf(2), drain: {} } });
  expect(await formatUnexpected(noCluster, Pools, without, changed)).toEqual([]);
  expect(await formatUnexpected(noCluster, Pools, having, having)).toEqual([]);
});

test('a change of the number alone reports how many VMs come or go', async () => {
  const [ten, nine] = [10, 9].map((replicas) => poolWith({ spec: { ...stage, replicas } }));
  expect(await formatChange(noCluster, Pools, ten!, nine!)).toEqual(['pool web: 1 VM would be removed, 10 to 9']);
  expect(await formatChange(noCluster, Pools, nine!, ten!)).toEqual(['pool web: 1 VM would be added, 9 to 10']);
  expect(await formatChange(noCluster, Pools, ten!, ten!)).toEqual([]);
});

test('a template that was rolled back is reported as such, with the reason and the way to try it again', () => {
  const halted = { kind: 'Undoing', by: 'drover', at: '2026-01-01T00:00:00Z', reason: 'web-2: too slow' } as const;
  expect(formatHalts(Pools, poolWith({ rollout: { halted } }))).toEqual([
    'pool web: this template was rolled back, by drover: web-2: too slow; `drover rollout resume pool web` rolls it out again',
  ]);
});

test('a paused pool is reported as such, with the way to resume it', () => {
  const paused = { by: 'anna', at: '2026-01-01T00:00:00Z', reason: 'lunch' };
  expect(formatHalts(Pools, poolWith({ rollout: { paused } }))).toEqual([
    'pool web: its rollouts are paused, by anna: lunch: no VM is updated until `drover rollout resume pool web`',
  ]);
  expect(formatHalts(Pools, poolWith({ spec: { paused: true } }))).toEqual([
    'pool web: spec.paused is true: no VM is updated until it is false',
  ]);
});

test('a template that is in progress, or differs from the one that was rolled back, has no such report', () => {
  const halted = { kind: 'Undoing', by: 'drover', at: '2026-01-01T00:00:00Z' } as const;
  expect(formatHalts(Pools, poolWith())).toEqual([]);
  expect(formatHalts(Pools, poolWith({ spec: { template: templateOf(3) }, rollout: { halted } }))).toEqual([]);
});

test('the diff of a pool has the lines of its spec that change, and cannot control a terminal', () => {
  const before = poolWith({ spec: { replicas: 3 } });
  const after = poolWith({ spec: { replicas: 4, template: templateOf(2, { note: 'a\u001B[31mb' }) } });
  const lines = specDiff('pool/web', before, after).map(stripVTControlCharacters);
  expect(lines).toEqual(
    expect.arrayContaining(['--- pool/web now', '+++ pool/web as the manifest says', '-replicas: 3', '+replicas: 4']),
  );
  expect(specDiff('pool/web', before, before)).toEqual([]);
  expect(specDiff('pool/web', undefined, before)[0]).toContain('pool/web does not exist yet');
});

test('a change of a set reports how many VMs come or go, and that a new template is for later ones', async () => {
  const before = setWith();
  const { template } = before.spec;
  const newer = { ...template, metadata: { labels: { app: 'web', tier: 'back' } } };
  expect(await formatChange(noCluster, VmSets, before, setWith({ replicas: 5, template: newer }))).toEqual([
    'replica set web: 2 VMs would be added, 3 to 5',
    'replica set web: the template would apply to VMs made from then on; 3 VMs would stay as before',
  ]);
  expect(await formatChange(noCluster, VmSets, before, setWith({ replicas: 2 }))).toEqual([
    'replica set web: 1 VM would be removed, 3 to 2',
  ]);
  expect(await formatChange(noCluster, VmSets, before, before)).toEqual([]);
  expect(formatHalts(VmSets, before)).toEqual([]);
});

const revisionOf = (number: number, cores: number, cause: string): object => ({
  metadata: {
    namespace: 'default',
    name: revisionName('web', hashOf(cores)),
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { [REVISION_LABEL]: hashOf(cores) },
    annotations: { [CHANGE_CAUSE_ANNOTATION]: cause, [REQUESTED_BY_ANNOTATION]: 'ann' },
    ownerReferences: [ownerReference('VirtualMachinePool', { ...poolWith().metadata, namespace: 'default' })],
  },
  revision: number,
  data: { template: templateOf(cores) },
});

const clusterWith = (...items: object[]): KubeClient =>
  ({
    list: ({ plural }: Resource) => Promise.resolve({ items: plural === 'controllerrevisions' ? items : [] }),
  }) as unknown as KubeClient;

test('a template that an undo took away is reported as such, with the reason, and no other is', async () => {
  const undo = `undo to revision 1 (${hashOf(1)}): no node has 64 cores`;
  const [before, after] = [1, 64].map((cores) => poolWith({ spec: { ...stage, template: templateOf(cores) } }));
  const undone = clusterWith(revisionOf(2, 64, 'bigger'), revisionOf(3, 1, undo));
  const sentence = `pool web: this is the template of revision 2 (${hashOf(64)}) again, which was undone by ann: ${undo}`;
  expect(await formatChange(undone, Pools, before!, after!)).toContain(sentence);
  expect(await formatUnexpected(undone, Pools, before!, after!)).toEqual([sentence]);
  expect(await formatUnexpected(undone, Pools, before!, before!)).toEqual([]);
  // No worker has made the undo's template the newest revision yet.
  const pending = clusterWith(revisionOf(1, 1, 'first'), revisionOf(2, 64, 'bigger'));
  const justUndone = structuredClone(before!);
  justUndone.metadata.annotations = {
    [CHANGE_CAUSE_ANNOTATION]: undo,
    [REQUESTED_BY_ANNOTATION]: requesterAnnotation('ann', hashOf(1)),
  };
  expect(await formatUnexpected(pending, Pools, justUndone, after!)).toEqual([sentence]);
  // The pool got another template after the undo, whose revision has kept the annotation.
  const lingering = clusterWith(revisionOf(2, 64, 'bigger'), revisionOf(3, 8, undo));
  expect(await formatUnexpected(lingering, Pools, before!, after!)).toEqual([]);
});
