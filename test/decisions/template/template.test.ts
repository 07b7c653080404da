import { describe, expect, test } from 'vitest';
import type { NameGeneration, VmTemplate } from '../../../api/pool/pool.ts';
import { sidesOf, templateDiff } from '../../../clients/rollout/diff.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { poolTemplate, specOf } from '../../../decisions/template/template.ts';
import { vmFromTemplate } from '../../../decisions/template/vm-from-template.ts';
import { disruptionBetween } from '../../../decisions/vm-update/disruption.ts';
import { poolWith } from '../../clients/rollout/pools.ts';
import { aPool } from '../fixtures/fleets.ts';
import { old, OLD, OLD_TEMPLATE, plan, taken } from '../fixtures/rollout-pools.ts';

const seeded: VmTemplate = {
  spec: {
    runStrategy: 'Always',
    template: { spec: { volumes: [{ name: 'seed', cloudInitNoCloud: { secretRef: { name: 'ci' } } }] } },
  },
};
const SECRETS: NameGeneration = { appendPostfixToSecretReferences: true };
const CONFIG_MAPS: NameGeneration = { appendPostfixToConfigMapReferences: true };
const revision = (nameGeneration: NameGeneration): string =>
  revisionOf(poolTemplate({ template: seeded, nameGeneration }));

describe('a change of nameGeneration', () => {
  test('is another revision if the template has such references; a reversal finds the one before again', () => {
    expect(revision(SECRETS)).not.toBe(revisionOf(seeded));
    expect(revision({ ...SECRETS, ...CONFIG_MAPS })).toBe(revision(SECRETS));
    expect(revision({ appendPostfixToSecretReferences: false })).toBe(revisionOf(seeded));
    expect(revision(CONFIG_MAPS)).toBe(revisionOf(seeded));
  });

  test('restarts the VMI, which reads a Secret only as it starts', () => {
    expect(disruptionBetween(seeded, poolTemplate({ template: seeded, nameGeneration: SECRETS }), 'LiveUpdate')).toBe(
      'Restart',
    );
  });

  test('is rolled out', () => {
    const vms = [old(1, { revision: revisionOf(seeded) })];
    const rolled = plan({
      vms,
      kept: [seeded],
      spec: { template: seeded, nameGeneration: SECRETS },
      status: { currentRevision: revisionOf(seeded) },
      state: null,
    });
    expect(taken(rolled)).toEqual(['web-1']);
    expect(rolled).toMatchObject({ target: revision(SECRETS), update: { batch: { vms: [{ act: 'restart' }] } } });
    expect(
      plan({ vms: [old(1)], spec: { template: OLD_TEMPLATE, nameGeneration: SECRETS }, state: null }),
    ).toMatchObject({ target: OLD, update: null });
  });

  test('reaches no VM that is made of an earlier revision', () => {
    const nameOf = (template: VmTemplate): unknown =>
      JSON.stringify(vmFromTemplate(aPool({ nameGeneration: SECRETS }), template, 4).spec).match(
        /"secretRef":\{"name":"(.*?)"/,
      )?.[1];
    expect(nameOf(seeded)).toBe('ci');
    expect(nameOf(poolTemplate({ template: seeded, nameGeneration: SECRETS }))).toBe('ci-4');
  });

  test('is shown by a diff', () => {
    const template = poolTemplate({ template: seeded, nameGeneration: SECRETS });
    const kept = {
      number: 1,
      hash: revisionOf(seeded),
      template: seeded,
      createdAt: '2026-01-01T00:00:00Z',
      usedAt: '2026-01-01T00:00:00Z',
      requestedBy: null,
      changeCause: null,
    };
    const [from, to] = sidesOf(
      poolWith({ spec: { template: seeded, nameGeneration: SECRETS }, status: { currentRevision: kept.hash } }),
      [kept],
      {},
    );
    expect(to.template).toEqual(template);
    expect(templateDiff(from, to).join('\n')).toContain('appendPostfixToSecretReferences: true');
  });

  test('is taken back by an undo, and a value that does not affect the template stays', () => {
    expect(specOf(seeded, { nameGeneration: { ...SECRETS, ...CONFIG_MAPS } })).toEqual({
      template: seeded,
      nameGeneration: CONFIG_MAPS,
    });
    expect(specOf(poolTemplate({ template: seeded, nameGeneration: SECRETS }), {})).toEqual({
      template: seeded,
      nameGeneration: SECRETS,
    });
  });
});

const vmi = (evictionStrategy?: string) => ({
  spec: {
    runStrategy: 'Always',
    template: { spec: { domain: {}, ...(evictionStrategy === undefined ? {} : { evictionStrategy }) } },
  },
});

describe('a pool with drain', () => {
  test('leaves evictions to drover', () => {
    expect(poolTemplate({ template: vmi(), drain: {} })).toEqual(vmi('External'));
    expect(poolTemplate({ template: vmi() })).toEqual(vmi());
  });

  test('keeps that out of its spec when a template is written back, with and without drain', () => {
    expect(specOf(vmi('External'), { drain: {} }).template).toEqual(vmi());
    expect(specOf(vmi('External'), {}).template).toEqual(vmi('External'));
  });

  test('has one revision, whatever else is in drain', () => {
    const revision = revisionOf(poolTemplate({ template: vmi(), drain: {} }));
    expect(revisionOf(poolTemplate({ template: vmi(), drain: { method: 'Restart', deadlineSeconds: 5 } }))).toBe(
      revision,
    );
  });
});
