import { describe, expect, test } from 'vitest';
import type { PoolSpec, VmTemplate } from '../../../api/pool/pool.ts';
import { correctionOf, driftOfMember } from '../../../decisions/drift/members.ts';
import { internParts } from '../../../decisions/from-object/intern-parts.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { updateNeed, type UpdateNeed } from '../../../decisions/vm-update/need.ts';
import { aPool, aVm, aVmi, quiet } from '../fixtures/fleets.ts';

const template = (cores: number, sockets = 1): VmTemplate => ({
  spec: { runStrategy: 'Always', template: { spec: { domain: { cpu: { cores, sockets } } } } },
});
const MADE = template(1);
const REVISION = revisionOf(MADE);
const CORRECT: Partial<PoolSpec> = { updateStrategy: { proactive: { drift: 'Correct' } } };

/** A VM of the pool that has come to the spec of `now`. */
function member(number: number, now: VmTemplate = MADE, fields: Partial<VmView> = {}): VmView {
  const pool = aPool({ template: MADE });
  const made = vmFromTemplate(pool, MADE, number);
  const { spec } = vmFromTemplate(pool, now, number);
  (spec['template'] as { metadata: object }).metadata = (made.spec['template'] as { metadata: object }).metadata;
  return aVm(`web-${number}`, {
    revision: REVISION,
    ownLabels: made.metadata.labels,
    spec: internParts(spec),
    ...fields,
  });
}

const plan = (vms: VmView[], spec: Partial<PoolSpec> = {}, fields: Partial<PoolPlanInput> = {}): PoolPlan =>
  planPool({
    ...quiet,
    pool: aPool({ replicas: vms.length, template: MADE, maxUnavailable: 1, ...spec }),
    vms,
    revisions: [{ name: `web-${REVISION}`, revision: REVISION, number: 1, template: MADE }],
    burst: 250,
    ...fields,
  });
const updates = ({ steps }: PoolPlan): object[] =>
  steps.flatMap((step) =>
    step.kind === 'update'
      ? step.batch.vms.map(({ name, act, setsRight }) => ({ name, act, ...(setsRight && { setsRight }) }))
      : [],
  );

const drifted = [member(1), member(2, template(4)), member(3, template(8))];

describe('a pool', () => {
  test('counts VMs that have drifted, says which, and leaves them alone', () => {
    const planned = plan(drifted);
    expect(updates(planned)).toEqual([]);
    expect(planned.status).toMatchObject({ driftedReplicas: 2 });
    const condition = planned.status?.conditions?.find(({ type }) => type === 'Drifted');
    expect(condition).toMatchObject({ status: 'True', reason: 'Kept' });
    expect(condition?.message).toMatch(/^web-2, web-3 differ from their templates: .*; web-2: spec\.template/);
    expect(plan([member(1)]).status?.conditions?.map(({ type }) => type)).not.toContain('Drifted');
  });

  test('corrects the VMs that it was asked to correct, and no others', () => {
    const ordered = [drifted[0]!, drifted[1]!, { ...drifted[2]!, correctionRequested: true }];
    expect(updates(plan(ordered))).toEqual([{ name: 'web-3', act: 'restart', setsRight: true }]);
    const right = [{ ...drifted[0]!, correctionRequested: true }];
    // The order goes although there is nothing to do.
    expect(updates(plan(right))).toEqual([{ name: 'web-1', act: 'write', setsRight: true }]);
  });

  test('corrects all VMs under Correct, one after the other, but not while it is paused, nor VMs that opted out', () => {
    const right = { act: 'restart', setsRight: true };
    expect(updates(plan(drifted, CORRECT))).toMatchObject([right, right]);
    expect(updates(plan(drifted, { ...CORRECT, paused: true }))).toEqual([]);
    expect(updates(plan([{ ...drifted[1]!, optedOut: true }], CORRECT))).toEqual([]);
    for (const updateStrategy of [{ unmanaged: {} }, { opportunistic: {} }])
      expect(
        updates(
          plan(
            drifted.map((vm) => ({ ...vm, correctionRequested: true })),
            { updateStrategy },
          ),
        ),
      ).toEqual([]);
  });

  test('corrects a VM later in which something else changes the same back, says so, and corrects others', () => {
    const again = {
      vm: 'web-2',
      revision: REVISION,
      message: 'something else changes it back',
      tries: 3,
      notBefore: quiet.now + 1,
      corrected: true,
    } as const;
    const put = plan(drifted, CORRECT, { deferred: [again] });
    expect(updates(put)).toMatchObject([{ name: 'web-3' }]);
    const progressing = put.status?.conditions?.find(({ type }) => type === 'Progressing');
    expect(progressing?.message).toContain('web-2: something else changes it back');
    expect(put.requeueAt).toBe(again.notBefore);
    expect(updates(plan(drifted, CORRECT, { deferred: [{ ...again, notBefore: quiet.now }] }))).toHaveLength(2);
    // Another restart is none of its business.
    const old = { ...member(2), revision: null };
    expect(updates(plan([old], CORRECT, { deferred: [again] }))).toMatchObject([{ name: 'web-2', act: 'restart' }]);
  });

  test('takes no more VMs while VMs of a batch are not written yet', () => {
    const [, vm] = drifted;
    const held = {
      name: vm!.name,
      uid: vm!.uid,
      act: 'restart',
      from: REVISION,
      wasDown: false,
      setsRight: true,
    } as const;
    const batches = [{ n: 1, revision: REVISION, rollout: REVISION, vms: [held], startedAt: 0 }];
    expect(updates(plan(drifted, CORRECT, { batches }))).toEqual([]);
  });

  test('compares each VM with its own revision if that is older', () => {
    const next = template(2);
    const pool = aPool({ template: next });
    const templateOf = (revision: string): VmTemplate | undefined => (revision === REVISION ? MADE : next);
    expect(driftOfMember(pool, member(1), templateOf)).toEqual([]);
    expect(driftOfMember(pool, member(2, next), templateOf)).toHaveLength(1);
    expect(driftOfMember(pool, member(3, next, { revision: null }), templateOf)).toEqual([]);
    expect(driftOfMember(pool, member(4, next), () => undefined)).toEqual([]);
    expect(driftOfMember(pool, member(5, next, { spec: null }), templateOf)).toEqual([]);
  });
});

const act = (what: string): object => ({ need: 'act', act: what, setsRight: true });

describe('to correct a VM', () => {
  const ROOM = { cpu: { sockets: 1, maxSockets: 4, current: 1 } };
  const need = (
    vm: VmView,
    vmi: Partial<VmiView> | null,
    limit: 'None' | 'Live' | 'Restart' | null = 'Restart',
  ): UpdateNeed => {
    const pool = aPool({ template: MADE });
    const templateOf = (): VmTemplate => MADE;
    return updateNeed(
      { ...vm, correctionRequested: true },
      (one) => (vmi === null ? undefined : aVmi(one, { ...ROOM, ...vmi })),
      {
        revision: REVISION,
        template: MADE,
        templateOf,
        changeFor: () => null,
        strategy: 'LiveUpdate',
        clusterStrategy: 'LiveUpdate',
        correction: (one) => correctionOf(pool, one, { templateOf, strategy: 'LiveUpdate' }),
        limit,
      },
    );
  };

  test.each<[string, VmView, Partial<VmiView> | null, object]>([
    ['a restart is needed for cores', member(1, template(4)), {}, act('restart')],
    ['KubeVirt adds sockets live', member(1, template(1, 0)), {}, act('live')],
    [
      'and takes none away',
      member(1, template(1, 2)),
      { cpu: { sockets: 2, maxSockets: 4, current: 2 } },
      act('restart'),
    ],
    [
      'a VM that does not run is written',
      member(1, template(4), { hasVmi: false, ready: false, runStrategy: 'Halted' }),
      null,
      act('write'),
    ],
    ['nothing disturbs a VM with other labels', member(1, MADE, { ownLabels: {} }), {}, act('write')],
  ])('%s', (_what, vm, vmi, expected) => expect(need(vm, vmi)).toEqual(expected));

  test('no more VMs are corrected than the pool allows', () => {
    expect(need(member(1, template(4)), {}, 'Live')).toEqual(act('write'));
    expect(need(member(1, template(1, 0)), {}, 'None')).toMatchObject({ need: 'excluded' });
    expect(need(member(1, template(4)), {}, null)).toEqual({
      need: 'excluded',
      message: 'it runs, and is corrected when it stops',
    });
  });
});
