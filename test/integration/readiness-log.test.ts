import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ReadinessLog, type Change, type VmFacts, type VmiFacts } from './readiness-log.ts';

const machine = { type: 'old', mark: null, record: null };
const vm = (facts: Partial<VmFacts> = {}): VmFacts => ({
  uid: 'vm',
  strategy: 'Always',
  ready: true,
  asked: false,
  deleting: false,
  revision: 'r1',
  machine,
  ...facts,
});
const vmi = (uid: string, facts: Partial<VmiFacts> = {}): VmiFacts => ({
  uid,
  ready: true,
  deleting: false,
  final: false,
  revision: 'r1',
  ...facts,
});

const ofVm = (version: number, name: string, facts: VmFacts | null): Change => ({
  kind: 'vm',
  name,
  version: BigInt(version),
  at: version,
  facts,
});
const ofVmi = (version: number, name: string, facts: VmiFacts | null): Change => ({
  kind: 'vmi',
  name,
  version: BigInt(version),
  at: version,
  facts,
});

function logOf(changes: Change[], from = 0): ReadinessLog {
  const log = new ReadinessLog();
  for (const change of changes) log.add(change);
  log.beginAt(BigInt(from));
  return log;
}

/** One restart of `a`, as KubeVirt reports it, from version 10 on; the VM's own readiness lags behind its VMI's. */
const restart = [
  ofVm(1, 'a', vm()),
  ofVmi(2, 'a', vmi('g1')),
  ofVmi(10, 'a', vmi('g1', { deleting: true, ready: false })),
  ofVm(12, 'a', vm({ ready: false })),
  ofVmi(13, 'a', null),
  ofVmi(14, 'a', vmi('g2', { ready: false, revision: 'r2' })),
  ofVmi(16, 'a', vmi('g2', { revision: 'r2' })),
  ofVm(17, 'a', vm()),
];

test('a VM is down from the moment that its VMI goes until both say that it is ready', () => {
  const log = logOf(restart, 9);
  expect(log.peak()).toMatchObject({ unavailable: 1, names: ['a'], version: 10n });
  expect(logOf(restart, 16).mostUnavailable()).toBe(1);
  expect(logOf(restart, 17).mostUnavailable()).toBe(0);
  expect(logOf(restart.slice(0, 2), 2).mostUnavailable()).toBe(0);
});

test('only the last state before the recording counts', () => {
  const down = Array.from({ length: 5 }, (_, n) => ofVm(20 + n, `down-${n}`, vm({ ready: false })));
  const gone = down.map((change, n) => ofVm(30 + n, change.name, null));
  expect(logOf([...down, ...gone]).mostUnavailable()).toBe(5);
  expect(logOf([...down, ...gone], 24).mostUnavailable()).toBe(5);
  expect(logOf([...down, ...gone], 32).mostUnavailable()).toBe(2);
  expect(logOf([...down, ...gone], 34).mostUnavailable()).toBe(0);
});

test('each VMI that came since is a restart, and carries the revision that it was started with and the last one', () => {
  const live = [...restart, ofVmi(20, 'a', vmi('g2', { revision: 'r3' }))];
  const log = logOf(live, 9);
  expect(log.restartsOf('a')).toEqual([{ uid: 'g2', startedWith: 'r2', revision: 'r3', at: 14 }]);
  expect(log.vmisOf('a').map(({ uid }) => uid)).toEqual(['g1', 'g2']);
  expect(log.restartsOf('b')).toEqual([]);
});

test.each([
  ['Halted', vm({ strategy: 'Halted', ready: false }), null, 0],
  ['Manual, off', vm({ strategy: 'Manual', ready: false }), null, 0],
  ['Manual, asked to restart', vm({ strategy: 'Manual', ready: false, asked: true }), null, 1],
  ['Manual, booting', vm({ strategy: 'Manual', ready: false }), vmi('g', { ready: false }), 1],
  ['Manual, stopping', vm({ strategy: 'Manual', ready: false }), vmi('g', { ready: false, deleting: true }), 0],
  ['Once, over', vm({ strategy: 'Once', ready: false }), vmi('g', { ready: false, final: true }), 0],
  ['Once, without a VMI', vm({ strategy: 'Once', ready: false }), null, 1],
  ['Always, over', vm({ ready: false }), vmi('g', { ready: false, final: true }), 1],
  ['Always, whose VM lags', vm({ ready: true }), null, 1],
  ['Always, being deleted', vm({ ready: false, deleting: true }), null, 0],
])('a VM that is %s', (_what, machine, vmi, unavailable) => {
  expect(logOf([ofVm(1, 'a', machine), ofVmi(2, 'a', vmi)], 2).mostUnavailable()).toBe(unavailable);
});

test('missing VMs count if the number of VMs is given', () => {
  const log = logOf([ofVm(1, 'a', vm()), ofVmi(2, 'a', vmi('g')), ofVm(5, 'a', null)], 2);
  expect(log.mostUnavailable()).toBe(0);
  expect(log.peak({ replicas: 1 })).toMatchObject({ unavailable: 1, version: 5n });
});

test('the times in which VMs were down are added up', () => {
  expect(logOf(restart, 9).downtime()).toBe(7);
  const other = restart.map((change) => ({ ...change, name: 'b', version: change.version + 100n, at: change.at + 3 }));
  expect(logOf([...restart, ...other], 9).downtime()).toBe(7 + 8);
  expect(logOf(restart.slice(0, 4), 9).downtime()).toBe(2);
});

test('VMIs that are sent away are reported, with how many are down from then on', () => {
  const broken = ofVm(3, 'broken', vm({ ready: false }));
  expect(logOf([...restart, broken], 9).departures()).toEqual([
    {
      name: 'a',
      revision: 'r1',
      down: [
        { name: 'a', since: 10 },
        { name: 'broken', since: 3 },
      ],
      version: 10n,
      at: 10,
    },
  ]);
  expect(logOf([...restart, broken], 10).departures()).toEqual([]);
  expect(
    logOf([
      broken,
      ofVmi(4, 'broken', vmi('g', { ready: false })),
      ofVmi(5, 'broken', vmi('g', { ready: false, deleting: true })),
    ]).departures(),
  ).toEqual([]);
  const scaledIn = [
    ofVm(1, 'a', vm()),
    ofVmi(2, 'a', vmi('g')),
    ofVm(3, 'a', vm({ deleting: true })),
    ofVmi(4, 'a', vmi('g', { ready: false, deleting: true })),
  ];
  expect(logOf(scaledIn).departures()).toEqual([]);
});

test('a change that is reported twice, or late, or older than another, counts once', () => {
  const log = logOf([...restart, ...restart], 9);
  expect(log.restartsOf('a')).toHaveLength(1);
  expect(log.history('a')).toHaveLength(10);
  expect(log.names()).toEqual(['a']);
});

test('the answers are the same however the two streams interleave', () => {
  const streams = {
    vm: restart.filter(({ kind }) => kind === 'vm'),
    vmi: restart.filter(({ kind }) => kind === 'vmi'),
  };
  const expected = logOf(restart, 9);
  fc.assert(
    fc.property(
      fc.shuffledSubarray([...streams.vm.map(() => 'vm' as const), ...streams.vmi.map(() => 'vmi' as const)], {
        minLength: restart.length,
      }),
      (turns) => {
        const left = { vm: [...streams.vm], vmi: [...streams.vmi] };
        const log = logOf(
          turns.map((kind) => left[kind].shift()!),
          9,
        );
        expect(log.peak()).toEqual(expected.peak());
        expect(log.history('a')).toEqual(expected.history('a'));
        expect(log.restartsOf('a')).toEqual(expected.restartsOf('a'));
      },
    ),
  );
});
