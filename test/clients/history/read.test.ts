import { expect, test } from 'vitest';
import { ownerKindOf, Pools } from '../../../clients/cli/kinds.ts';
import { readActs, readActsOfVm } from '../../../clients/history/read.ts';
import type { Act } from '../../../decisions/history/act.ts';
import { anAct, anOpenAct } from '../../decisions/history/acts.ts';
import { aSession, type Known } from './sessions.ts';

const Sets = ownerKindOf('VirtualMachineReplicaSet')!;
const ref = { cluster: 'default', namespace: 'shop', name: 'web' };
const none = { revisionsOf: () => Promise.resolve([]), since: null, note: () => {} };

const WORKFLOWS: Record<string, Known> = {
  'pool/default/shop/web': { acts: [anAct({ action: 'delete', vms: ['web-24567'] })] },
  'replica-set/default/shop/web': { acts: [anAct({ action: 'adopt', vms: ['stray', 'web-24567'] })] },
  'replica-set/default/shop/web-other': { acts: [anAct({ action: 'adopt', vms: ['another'] })] },
  'operation/default/shop/one/uid': {
    acts: [anAct({ workflow: 'power', vms: ['shop/web-24567', 'shop/stray', 'shop/web-1', 'other/web-24567'] })],
  },
};

const shown = (acts: readonly Act[]): string[] => acts.map(({ action, vms }) => `${action} ${vms.join()}`).sort();

test('a set has its own history, and the restarts of VMs of its names or that it has acted on', async () => {
  const { session, queries } = aSession(WORKFLOWS);
  expect(shown(await readActs(session, Sets, ref, none))).toEqual(['adopt stray,web-24567', 'restart web-24567,stray']);
  // Runs that have touched other namespaces alone are not asked, and no run that has handed on what it knew.
  expect(queries[1]).toContain("(DroverNamespaces = 'shop' OR DroverNamespaces IS NULL)");
  for (const query of queries) expect(query).toContain("ExecutionStatus != 'ContinuedAsNew'");
});

test('a pool of the same name beside it has another', async () => {
  const { session } = aSession(WORKFLOWS);
  expect(shown(await readActs(session, Pools, ref, none))).toEqual(['delete web-24567', 'restart web-24567,web-1']);
});

test('a VM whose name a pool or a set may have given has the acts of both', async () => {
  const { session } = aSession(WORKFLOWS);
  expect(shown(await readActsOfVm(session, { ...ref, name: 'web-24567' }, none))).toEqual([
    'adopt web-24567',
    'delete web-24567',
    'restart web-24567',
  ]);
  expect(shown(await readActsOfVm(session, { ...ref, name: 'stray' }, none))).toEqual(['restart stray']);
});

test('acts that were over before are left out, and workflows that were over by then are not asked', async () => {
  const since = Date.parse('2026-01-01T00:00:30Z');
  const acts = [anAct(), anAct({ vms: ['web-2'], endedAt: '2026-01-01T00:00:40Z' }), anOpenAct({ vms: ['web-3'] })];
  const { session, queries } = aSession({ 'pool/default/shop/web': { acts } });
  expect(shown(await readActs(session, Pools, ref, { ...none, since }))).toEqual(['restart web-2', 'restart web-3']);
  for (const query of queries) expect(query).toContain("CloseTime >= '2026-01-01T00:00:30.000Z'");
});

test('a workflow that has ended answers without a worker, and the acts that a terminated one had begun have an unknown outcome', async () => {
  const id = 'pool/default/shop/web';
  const over = aSession({ [id]: { status: 'COMPLETED', acts: [anAct()] } });
  expect(await readActs(over.session, Pools, ref, none)).toEqual([anAct()]);
  const cut = aSession({ [id]: { status: 'TERMINATED', acts: [anAct(), anOpenAct({ vms: ['web-2'] })] } });
  expect(await readActs(cut.session, Pools, ref, none)).toMatchObject([
    { end: 'Updated' },
    { end: 'Unknown', message: 'its workflow was terminated' },
  ]);
});

test('a workflow that does not answer is named, and hides nothing about the others', async () => {
  const silent = { 'operation/default/shop/one/uid': { acts: null } };
  const noted: string[] = [];
  const note = (sentence: string): void => void noted.push(sentence);
  const { session } = aSession({ ...WORKFLOWS, ...silent });
  expect(shown(await readActs(session, Pools, ref, { ...none, note }))).toEqual(['delete web-24567']);
  expect(noted).toEqual([
    'what operation/default/shop/one/uid did is not known: operation/default/shop/one/uid does not answer: nobody is there',
  ]);
  await expect(
    readActs(aSession({ 'pool/default/shop/web': { acts: null } }).session, Pools, ref, none),
  ).rejects.toThrow('what pool/default/shop/web did is not known');
});

test('an operation that does not answer hides no act of the pool, though it is the only one', async () => {
  const { session } = aSession({
    'pool/default/shop/web': { acts: [anAct()] },
    'operation/default/shop/one/uid': { acts: null },
  });
  expect(await readActs(session, Pools, ref, none)).toEqual([anAct()]);
});

test('operations of other namespaces are not asked, though one that has not begun is found by every search', async () => {
  const others = { 'operation/default/bank/one/uid': { acts: null } };
  const { session } = aSession({ ...WORKFLOWS, ...others });
  const noted: string[] = [];
  await readActs(session, Pools, ref, { ...none, note: (sentence) => void noted.push(sentence) });
  expect(noted).toEqual([]);
});
