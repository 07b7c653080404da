import { describe, expect, test } from 'vitest';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { poolReadiness } from '../../../decisions/owners/readiness.ts';
import { rolloutConditions } from '../../../decisions/rollout/conditions.ts';
import type { RolloutPlan } from '../../../decisions/rollout/plan.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { nodeFits } from '../../../decisions/views/node-fits.ts';
import { plan, old, rolloutInput, rolling, at, NOW } from '../fixtures/rollout-pools.ts';

interface Fields {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  spec?: object;
}

const template = ({ labels = {}, annotations = {}, spec = {} }: Fields = {}): VmTemplate => ({
  spec: {
    runStrategy: 'Always',
    template: { metadata: { labels, annotations }, spec: { domain: { devices: {} }, ...spec } },
  },
});

const zone = (value: string): Fields => ({ spec: { nodeSelector: { zone: value } } });
const inZone = (value: string): Fields => ({
  spec: {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [value] }] }],
        },
      },
    },
  },
});
const apart: Fields = { spec: { affinity: { podAntiAffinity: {} } } };

/** The plan of a VM that runs `to` in a pod that was made from `from`, on a node of zone `a`. */
function planned(from: Fields, to: Fields, podRevision: string | null = revisionOf(template(from))): RolloutPlan {
  const revision = revisionOf(template(to));
  return plan({
    vms: [old(1, { revision })],
    vmis: { 'web-1': { revision, node: 'one', pod: 'p', podRevision } },
    kept: [template(from)],
    spec: { template: template(to) },
    status: { currentRevision: revision, updateRevision: revision },
    state: { ...rolling(), revision },
    nodeLabelsOf: () => ({ zone: 'a' }),
  });
}

const LATER = 'until the next start or migration';

describe('a pod of another template', () => {
  test.each<[title: string, from: Fields, to: Fields, words: string[]]>([
    ['lacks labels', {}, { labels: { tier: 'gold' } }, [`web-1: the pod lacks the template's labels, ${LATER}`]],
    [
      'lacks annotations',
      { annotations: { a: '1' } },
      {},
      [`web-1: the pod lacks the template's annotations, ${LATER}`],
    ],
    [
      'lacks none that KubeVirt keeps up to date',
      {},
      { annotations: { 'descheduler.alpha.kubernetes.io/evict': 'true' } },
      [],
    ],
    [
      'lacks tolerations',
      {},
      { spec: { tolerations: [{ key: 'a' }] } },
      [`web-1: the pod lacks the template's tolerations, ${LATER}`],
    ],
    ['lacks no empty ones', {}, { spec: { tolerations: [] } }, []],
    ['is where it should be', {}, zone('a'), []],
    [
      'is elsewhere',
      zone('a'),
      zone('b'),
      [`web-1: the node does not fit the template's node selector or affinity, ${LATER}`],
    ],
    ['is where its affinity lets it be', {}, inZone('a'), []],
    [
      'is elsewhere by affinity',
      {},
      inZone('b'),
      [`web-1: the node does not fit the template's node selector or affinity, ${LATER}`],
    ],
    ['may be too near to others', {}, apart, [`web-1: the pod lacks the template's affinity, ${LATER}`]],
  ])('%s', (_title, from, to, words) => {
    const { outdatedPods, phase } = planned(from, to);
    expect([phase, outdatedPods.messages, outdatedPods.vms.length]).toEqual(['Complete', words, words.length]);
  });

  test("is reported if that template is no longer known, and not if it is the VM's own", () => {
    const gold = { labels: { tier: 'gold' } };
    expect(planned({}, gold, 'lost').outdatedPods.messages).toEqual([
      `web-1: the pod is of a template that is no longer kept, ${LATER}`,
    ]);
    expect(planned({}, gold, null).outdatedPods.messages).toEqual([]);
  });

  test('keeps the pool from being up to date, and from being complete', () => {
    const gold = { labels: { tier: 'gold' } };
    const { pool } = rolloutInput({ vms: [old(1)], spec: { template: template(gold) } });
    const conditions = (one: RolloutPlan): unknown[] =>
      rolloutConditions(pool, one, { blocked: null, waiting: 0, going: [] }, at(NOW))
        .filter(({ type }) => type === 'Progressing' || type === 'UpToDate')
        .map(({ type, status, reason }) => [type, status, reason]);
    expect(conditions(planned({}, gold))).toEqual([
      ['Progressing', 'False', 'OutdatedPods'],
      ['UpToDate', 'False', 'OutdatedPods'],
    ]);
    const said = rolloutConditions(pool, planned({}, gold), { blocked: null, waiting: 0, going: [] }, at(NOW));
    // Nothing more is done, so nobody waits for it.
    const wanted = { replicas: 1, deadlineSeconds: 600 };
    expect(poolReadiness(wanted, { replicas: 1, conditions: said }, at(NOW))).toMatchObject({
      state: 'Ready',
      reason: 'OutdatedPods',
    });
    expect(conditions(planned({}, gold, null))).toEqual([
      ['Progressing', 'False', 'Complete'],
      ['UpToDate', 'True', 'UpToDate'],
    ]);
  });
});

test.each<[title: string, expressions: object[], fits: boolean]>([
  ['a value', [{ key: 'zone', operator: 'In', values: ['a', 'b'] }], true],
  ['another value', [{ key: 'zone', operator: 'In', values: ['b'] }], false],
  ['not a value', [{ key: 'zone', operator: 'NotIn', values: ['a'] }], false],
  ['not a value of what it lacks', [{ key: 'rack', operator: 'NotIn', values: ['a'] }], true],
  ['what it has', [{ key: 'zone', operator: 'Exists' }], true],
  ['what it lacks', [{ key: 'rack', operator: 'Exists' }], false],
  ['what it must lack', [{ key: 'rack', operator: 'DoesNotExist' }], true],
  ['more', [{ key: 'cores', operator: 'Gt', values: ['7'] }], true],
  ['less', [{ key: 'cores', operator: 'Lt', values: ['8'] }], false],
  [
    'all of them',
    [
      { key: 'zone', operator: 'Exists' },
      { key: 'rack', operator: 'Exists' },
    ],
    false,
  ],
  ['what Kubernetes may invent', [{ key: 'zone', operator: 'Like', values: ['a'] }], false],
  ['nothing', [], false],
])('a node fits what asks for %s: %s', (_title, matchExpressions, fits) => {
  const nodeSelectorTerms = [{ matchExpressions }];
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  expect(nodeFits({ affinity: { nodeAffinity } }, { zone: 'a', cores: '8' })).toBe(fits);
});
