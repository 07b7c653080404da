import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { ownerKindOf, Pools } from '../../../clients/cli/kinds.ts';
import type { History } from '../../../clients/history/events.ts';
import { readActions, readActionsOfVm } from '../../../clients/history/read.ts';

const Sets = ownerKindOf('VirtualMachineReplicaSet')!;
const ref = { cluster: 'default', namespace: 'shop', name: 'web' };
const payloads = (...values: unknown[]) => ({
  payloads: values.map((value) => defaultPayloadConverter.toPayload(value)),
});

/** The history of a workflow that called one activity, which has not ended. */
const historyOf = (workflowType: string, activity: string, ...input: unknown[]): History =>
  ({
    events: [
      { workflowExecutionStartedEventAttributes: { workflowType: { name: workflowType } } },
      {
        eventId: 2,
        eventTime: { seconds: 1 },
        activityTaskScheduledEventAttributes: { activityType: { name: activity }, input: payloads(...input) },
      },
    ],
  }) as unknown as History;

const HISTORIES: Record<string, History> = {
  'pool/default/shop/web': historyOf('pool', 'deleteVms', {}, [{ name: 'web-24567' }]),
  'replica-set/default/shop/web': historyOf('replicaSet', 'adoptVms', {}, [{ name: 'stray' }, { name: 'web-24567' }]),
  'replica-set/default/shop/web-other': historyOf('replicaSet', 'adoptVms', {}, [{ name: 'another' }]),
  'power/default/one': historyOf('powerVms', 'changePower', {
    action: 'Restart',
    vms: ['shop/web-24567', 'shop/stray', 'shop/web-1', 'other/web-24567'],
  }),
};

const getHandle = (id: string) => ({ fetchHistory: () => Promise.resolve(HISTORIES[id]) });

/** A Temporal that has a pool and a set of the name `web`, and a restart of VMs of any owner. */
function temporal(): { client: Client; queries: string[] } {
  const queries: string[] = [];
  async function* list({ query }: { query: string }) {
    queries.push(query);
    const kept: Record<string, string> = {
      DroverPool: 'pool/',
      DroverReplicaSet: 'replica-set/',
      WorkflowType: 'power/',
    };
    const [prefix] = Object.keys(kept).flatMap((word) => (query.includes(word) ? [kept[word]!] : []));
    for (const workflowId of Object.keys(HISTORIES))
      if (workflowId.startsWith(prefix!)) yield { workflowId, runId: 'run', startTime: new Date(0) };
  }
  const options = { loadedDataConverter: { payloadCodecs: [] } };
  return { client: { workflow: { list, getHandle }, options } as unknown as Client, queries };
}

const none = (): Promise<never[]> => Promise.resolve([]);
const shown = (actions: readonly { action: string; vms: string[] }[]): string[] =>
  actions.map(({ action, vms }) => `${action} ${vms.join()}`).sort();

test('a set has its own history, and the restarts of VMs that are named like its or that it has acted on', async () => {
  const { client, queries } = temporal();
  expect(shown(await readActions(client, Sets, ref, none))).toEqual([
    'adopt stray,web-24567',
    'restart stray',
    'restart web-24567',
  ]);
  expect(queries[0]).toBe("DroverCluster = 'default' AND DroverNamespace = 'shop' AND DroverReplicaSet = 'web'");
  // Histories of runs that have touched other namespaces alone are not read.
  expect(queries[1]).toContain("(DroverNamespaces = 'shop' OR DroverNamespaces IS NULL)");
});

test('a pool beside it, of the same name, has another', async () => {
  const { client } = temporal();
  expect(shown(await readActions(client, Pools, ref, none))).toEqual([
    'delete web-24567',
    'restart web-1',
    'restart web-24567',
  ]);
});

test('a VM whose name a pool or a set may have given has what both did to it', async () => {
  const { client } = temporal();
  expect(shown(await readActionsOfVm(client, { ...ref, name: 'web-24567' }, none))).toEqual([
    'adopt web-24567',
    'delete web-24567',
    'restart web-24567',
  ]);
  expect(shown(await readActionsOfVm(client, { ...ref, name: 'stray' }, none))).toEqual(['restart stray']);
});
