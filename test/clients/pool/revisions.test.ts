import { stripVTControlCharacters } from 'node:util';
import { applyPatch } from 'diff';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { findRevision } from '../../../clients/pool/revisions.ts';
import { sidesOf, templateDiff } from '../../../clients/rollout/diff.ts';
import { formatDisruption, type LiveRules } from '../../../clients/rollout/disruption.ts';
import { history, historyTable } from '../../../clients/rollout/history.ts';
import { restarted } from '../../../clients/rollout/restart.ts';
import { formatUndone, undoTarget } from '../../../clients/rollout/undo.ts';
import { PLUGS_ALL } from '../../../decisions/vm-update/disruption.ts';
import { hashOf, poolWith, revisionWith, templateOf } from '../rollout/pools.ts';

const revisions = [revisionWith(1, 8), revisionWith(3, 1), revisionWith(4, 2)];
const sorted = (cores: number): string => stringify(templateOf(cores), { sortMapEntries: true });
const titles = (from?: string, to?: string): string[] =>
  sidesOf(poolWith(), revisions, { from, to }).map(({ title }) => title);
const rules = (strategy: LiveRules['strategy']): LiveRules => ({ strategy, plugs: PLUGS_ALL });
const sockets = (count: number): VmTemplate => ({
  spec: { runStrategy: 'Always', template: { spec: { domain: { cpu: { sockets: count }, devices: {} } } } },
});

describe('a revision', () => {
  test('is found by its number or hash', () => {
    expect(findRevision(revisions, '3', 'web')).toBe(revisions[1]);
    expect(findRevision(revisions, hashOf(8), 'web')).toBe(revisions[0]);
  });

  test('is not taken for a number if its hash is all digits', () => {
    const digits = revisionWith(7, 9, { hash: '3' });
    expect(findRevision([...revisions, digits], '3', 'web')).toBe(digits);
  });

  test('is refused with a list of those kept if it is not kept', () => {
    const words = `pool web has no revision 2; it has 1 (${hashOf(8)}), 3 (${hashOf(1)}), 4 (${hashOf(2)})`;
    expect(() => findRevision(revisions, '2', 'web')).toThrow(words);
    expect(() => findRevision([], '2', 'web')).toThrow('pool web has no revision 2: none are kept yet');
  });
});

describe('an undo', () => {
  test('goes back to what all VMs had last while another template is rolled out or has failed', () =>
    expect(undoTarget(poolWith({ status: { currentRevision: hashOf(8) } }), revisions)).toBe(revisions[0]));

  test('goes back to the newest other revision once all VMs have the template', () =>
    expect(undoTarget(poolWith({ status: { currentRevision: hashOf(2) } }), revisions)).toBe(revisions[1]));

  test('goes to the requested revision, even if that is the present one', () =>
    expect(undoTarget(poolWith(), revisions, '4')).toBe(revisions[2]));

  test('says where it goes, and the number that this has from then on', () => {
    expect(formatUndone(revisions[0]!, revisions)).toBe(
      `has the template of revision 1 (${hashOf(8)}) again, which becomes revision 5`,
    );
    expect(formatUndone(revisions[2]!, revisions)).toBe(`has the template of revision 4 (${hashOf(2)}) again`);
  });

  test('is refused in a pool that never had another template', () =>
    expect(() => undoTarget(poolWith(), [revisions[2]!])).toThrow('pool web has no other revision to go back to'));
});

test('changes nothing after a restart except the request for it', () => {
  const before = templateOf(2);
  const after = restarted(before, '2026-01-01T00:00:00Z');
  expect(before).toEqual(templateOf(2));
  expect(after.spec.template).toEqual({
    ...before.spec.template,
    metadata: { annotations: { 'drover.dev/restarted-at': '2026-01-01T00:00:00Z' } },
  });
  expect(restarted(after, '2027-01-01T00:00:00Z').spec.template).toMatchObject({
    metadata: { annotations: { 'drover.dev/restarted-at': '2027-01-01T00:00:00Z' } },
  });
  expect(formatDisruption(poolWith(), before, after, rules('LiveUpdate'))).toMatch(/^Restart/);
});

describe('a difference', () => {
  test('is one that patch(1) would take', () => {
    const [from, to] = sidesOf(poolWith(), revisions, {});
    const lines = templateDiff(from, to).map(stripVTControlCharacters);
    expect(lines.slice(0, 2)).toEqual([
      `--- revision 3 (${hashOf(1)})`,
      `+++ the template now, revision 4 (${hashOf(2)})`,
    ]);
    expect(lines).toContain('-          cores: 1');
    expect(lines).toContain('+          cores: 2');
    expect(applyPatch(sorted(1), lines.join('\n'))).toBe(sorted(2));
  });

  test('does not come from the order of keys', () => {
    const [one, other] = [
      { title: 'a', template: templateOf(2, { example: { a: 1, b: 2 } }) },
      { title: 'b', template: templateOf(2, { example: { b: 2, a: 1 } }) },
    ];
    expect(templateDiff(one, other)).toEqual([]);
  });

  test('is between the requested revisions', () => {
    expect(titles('1', '3')).toEqual([`revision 1 (${hashOf(8)})`, `revision 3 (${hashOf(1)})`]);
    expect(titles(undefined, '1')).toEqual([`revision 3 (${hashOf(1)})`, `revision 1 (${hashOf(8)})`]);
    expect(() => titles('5')).toThrow(/has no revision 5/);
  });
});

describe('the disruption of a change', () => {
  test.each([
    ['LiveUpdate', 'Live: VMIs take it while they run'],
    ['Stage', 'Restart: VMIs are restarted'],
    [null, 'Live: VMIs take it while they run, or under vmRolloutStrategy Stage Restart: VMIs are restarted'],
  ] as const)('under %s is told', (strategy, words) =>
    expect(formatDisruption(poolWith(), sockets(1), sockets(2), rules(strategy))).toBe(words),
  );

  test.each([
    ['Report', 'Restart', 'at their next start or migration'],
    ['Migrate', 'Live', 'by a migration of each VM'],
    ['Migrate', 'None', 'at their next start or migration'],
    ['MigrateOrRestart', 'Restart', 'by a migration of each VM, or a restart'],
    ['Restart', 'Restart', 'by a restart of each VM'],
    ['Restart', 'Live', 'at their next start or migration'],
  ] as const)('under outdatedPods %s and disruption %s is told of pods', (outdatedPods, disruption, words) => {
    const pool = poolWith({ spec: { updateStrategy: { proactive: { disruption, outdatedPods } } } });
    const tiered = structuredClone(templateOf(1));
    (tiered.spec.template as { metadata?: object }).metadata = { labels: { tier: 'gold' } };
    expect(formatDisruption(pool, templateOf(1), tiered, rules('LiveUpdate'))).toBe(
      `None: no VMI is touched; pods get the labels ${words}`,
    );
  });

  test('is reported with what the pool allows', () => {
    const gentle = poolWith({ spec: { updateStrategy: { proactive: { disruption: 'Live' } } } });
    expect(formatDisruption(gentle, templateOf(1), templateOf(2), rules('LiveUpdate'))).toBe(
      'Restart: VMIs are restarted, but the pool allows no more than Live',
    );
    const lazy = poolWith({ spec: { updateStrategy: { opportunistic: {} } } });
    expect(formatDisruption(lazy, templateOf(1), templateOf(2), rules(null))).toMatch(
      /^Restart: .*, once they stop by themselves/,
    );
  });

  test('may be a start or a stop', () =>
    expect(formatDisruption(poolWith(), templateOf(1), templateOf(1, { runStrategy: 'Halted' }), rules('Stage'))).toBe(
      'None: no VMI is touched; KubeVirt starts or stops VMs for it',
    ));
});

describe('the history of revisions', () => {
  const vms = new Map([
    [hashOf(1), 7],
    [hashOf(2), 3],
    ['lost', 1],
  ]);
  const entries = history(
    poolWith(),
    [revisions[1]!, revisionWith(4, 2, { requestedBy: 'ada@desk', changeCause: 'more cores' })],
    vms,
    new Map([[hashOf(1), 6]]),
  );

  test('says which VMs have which revision, including revisions that are no longer kept', () =>
    expect(entries).toMatchObject([
      { number: null, hash: 'lost', vms: 1, vmis: 0, isCurrent: false, isTarget: false },
      { number: 3, hash: hashOf(1), vms: 7, vmis: 6, isCurrent: true, isTarget: false },
      { number: 4, hash: hashOf(2), vms: 3, vmis: 0, isCurrent: false, isTarget: true, requestedBy: 'ada@desk' },
    ]));

  test('has the template that no batch has begun to bring', () => {
    const pool = poolWith();
    pool.metadata.annotations = { 'drover.dev/requested-by': `ada@desk ${hashOf(2)}` };
    expect(history(pool, [revisions[1]!], new Map(), new Map()).at(-1)).toMatchObject({
      number: null,
      hash: hashOf(2),
      isTarget: true,
      requestedBy: 'ada@desk',
    });
  });

  test('is a table for users', () =>
    expect(
      historyTable(entries, Date.parse('2026-01-01T01:00:00Z')).map((line) =>
        stripVTControlCharacters(line).replaceAll(/ {2,}/g, ' | '),
      ),
    ).toEqual([
      'REVISION | HASH | FIRST USED | VMS | VMIS | STATE | REQUESTED BY | CHANGE CAUSE',
      '<gone> | lost | <unknown> | 1 | 0 | <unknown> | <none>',
      `3 | ${hashOf(1)} | 60m ago | 7 | 6 | current | <unknown> | <none>`,
      `4 | ${hashOf(2)} | 60m ago | 3 | 0 | target | ada@desk | more cores`,
    ]));
});
