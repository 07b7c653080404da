import { describe, expect, test } from 'vitest';
import { VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { readHistory } from '../../../clients/dashboard/details/history.ts';
import { Kept } from '../../../clients/dashboard/details/kept.ts';
import { anAct } from '../../decisions/history/acts.ts';
import { aSession, type Known } from '../history/sessions.ts';

const request = {
  metadata: { namespace: 'shop', name: 'e', creationTimestamp: '2026-01-01T00:00:00Z' },
  involvedObject: { kind: 'VirtualMachine', name: 'web-1' },
  reportingComponent: 'drover.dev/worker',
  type: 'Normal',
  reason: 'Restarted',
  action: 'Restart',
  message: 'by an Event',
};

/** What the page says was done to VM web-1, or to its pool; `known`: workflows, none if Temporal is not known. */
async function historyOf(known: Record<string, Known> | null, resource = VirtualMachines) {
  const { session } = aSession(known ?? {});
  const kube = {
    get: () => Promise.reject(new Error('gone')),
    list: (_resource: unknown, { fieldSelector }: { fieldSelector?: string }) =>
      Promise.resolve({ items: fieldSelector?.startsWith('reportingComponent=') === true ? [request] : [] }),
  };
  const isKnown = known !== null;
  Object.assign(session, { kube: () => Promise.resolve(kube), knowsTemporal: () => Promise.resolve(isKnown) });
  const name = resource === VirtualMachines ? 'web-1' : 'web';
  const subject = { resource, namespace: 'shop', name, isMember: (vm: string) => vm === 'web-1' };
  const { history, unknown } = await readHistory(session, subject, [], new Kept(1_000));
  return { history: history.map(({ what, sentence, tone }) => [what, sentence, tone]), unknown };
}

const POOL = 'pool/default/shop/web';

describe('what happened to a VM', () => {
  test('has what drover did, as Temporal has it on record, and what failed as such', async () => {
    const acts = [
      anAct({ end: 'Failed', message: 'no node fits', requestedBy: 'drover' }),
      anAct({ action: 'heal', vms: ['web-1', 'web-2'], from: null, to: null, end: 'Healed', requestedBy: 'drover' }),
      anAct({ vms: ['web-2'] }),
    ];
    expect(await historyOf({ [POOL]: { acts } })).toEqual({
      history: [
        ['Failed', 'restart from a to b: no node fits', 'warning'],
        ['Healed', '', 'normal'],
      ],
      unknown: [],
    });
  });

  test('is what the cluster alone shows if Temporal is not known, and says so if it does not answer', async () => {
    const alone = [['Restart', 'by an Event', 'normal']];
    expect(await historyOf(null)).toEqual({ history: alone, unknown: [] });
    expect(await historyOf({ [POOL]: { acts: null } })).toEqual({
      history: alone,
      unknown: ['Temporal’s records can’t be read; this is what the cluster alone shows'],
    });
  });
});

test('what happened to a pool names its VMs, and who asked', async () => {
  const acts = [
    anAct({ vms: ['web-1', 'web-2'] }),
    anAct({ action: 'create', vms: ['web-3'], from: null, to: 'b', end: 'Done', requestedBy: 'drover' }),
    anAct({ action: 'pause', vms: [], from: null, to: null, end: 'Requested', message: 'wait' }),
  ];
  expect((await historyOf({ [POOL]: { acts } }, VirtualMachinePools)).history).toEqual([
    ['Updated', 'web-1, web-2 from a to b, requested by ada@desk', 'normal'],
    ['Create', 'web-3 to b', 'normal'],
    ['Requested', 'pause, requested by ada@desk: wait', 'normal'],
  ]);
});
