import fc from 'fast-check';
import type { VmTemplate } from '../../../api/pool/pool.ts';

/** Templates for the tests of decisions. Names are few, so that two templates share many fields. */

const anyText = fc.constantFrom('a', 'b', 'c');
const anyName = fc.constantFrom('root', 'data', 'seed', 'extra');
const anyTexts = fc.dictionary(fc.constantFrom('app', 'tier', 'constructor', '__proto__'), anyText, { maxKeys: 3 });
const optional = { requiredKeys: [] };

/** Unknown fields of any shape. */
const { anyJson } = fc.letrec<{ anyJson: unknown }>((tie) => ({
  anyJson: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<unknown>(0, 1, 'a', true, '', {}, []),
    fc.dictionary(fc.constantFrom('name', 'x', 'y', 'constructor', '__proto__'), tie('anyJson'), { maxKeys: 3 }),
    fc.array(tie('anyJson'), { maxLength: 3 }),
  ),
}));

const anySource = fc.oneof(
  fc.record({ dataVolume: fc.record({ name: anyText }) }),
  fc.record({
    persistentVolumeClaim: fc.record(
      { claimName: anyText, hotpluggable: fc.boolean() },
      { requiredKeys: ['claimName'] },
    ),
  }),
  fc.record({ containerDisk: fc.record({ image: anyText, path: anyText }, { requiredKeys: ['image'] }) }),
  fc.record({
    cloudInitNoCloud: fc.oneof(
      fc.record({ userData: anyText }),
      fc.record({ secretRef: fc.record({ name: anyText }) }),
    ),
  }),
);
const named = (...fields: fc.Arbitrary<object>[]): fc.Arbitrary<object[]> =>
  fc.uniqueArray(
    fc.tuple(anyName, ...fields).map(([name, ...rest]) => Object.assign({ name }, ...rest) as { name: string }),
    { selector: ({ name }) => name, maxLength: 4 },
  );
const anyBus = fc.record({ bus: anyText }, optional);
const anyDiskKind = fc.oneof(fc.record({ disk: anyBus }), fc.record({ cdrom: anyBus }), fc.record({ lun: anyBus }));
const anyBinding = fc.constantFrom({ masquerade: {} }, { bridge: {} });
const anyTolerations = fc.uniqueArray(fc.record({ key: anyText, operator: fc.constantFrom('Exists', 'Equal') }), {
  selector: (toleration) => JSON.stringify(toleration),
  maxLength: 3,
});

const anyVmiSpec = fc.record(
  {
    domain: fc.record(
      {
        cpu: fc.record({ sockets: fc.integer({ min: 1, max: 4 }), cores: fc.integer({ min: 1, max: 2 }) }, optional),
        memory: fc.record(
          { guest: fc.constantFrom('1Gi', '2Gi', '2048Mi'), maxGuest: fc.constantFrom('4Gi', '8Gi') },
          optional,
        ),
        devices: fc.record(
          {
            disks: named(anyDiskKind, fc.record({ bootOrder: fc.integer({ min: 1, max: 2 }) }, optional)),
            interfaces: named(anyBinding, fc.record({ model: anyText }, optional)),
          },
          optional,
        ),
      },
      { requiredKeys: ['devices'] },
    ),
    volumes: named(anySource),
    networks: named(fc.constantFrom({ pod: {} }, { multus: { networkName: 'blue' } })),
    nodeSelector: anyTexts,
    tolerations: anyTolerations,
    readinessProbe: fc.oneof(
      fc.record({ exec: fc.record({ command: fc.array(anyText, { maxLength: 3 }) }) }),
      fc.record({ tcpSocket: anyJson }),
    ),
    unheardOf: anyJson,
  },
  { requiredKeys: ['domain'] },
);

export const anyPower: fc.Arbitrary<{ running: boolean } | { runStrategy: string }> = fc.oneof(
  fc.record({ running: fc.boolean() }),
  fc.record({ runStrategy: fc.constantFrom('Always', 'Halted', 'Manual', 'RerunOnFailure', 'Once') }),
);
const anyMetadata = fc.record({ labels: anyTexts, annotations: anyTexts }, optional);

/** A template with no disk templates but `disks`, so that two such templates may differ in everything else. */
export const anyTemplate = (disks: VmTemplate['spec']['dataVolumeTemplates'] = []): fc.Arbitrary<VmTemplate> =>
  fc
    .record(
      {
        metadata: anyMetadata,
        power: anyPower,
        vmi: fc.record({ metadata: anyMetadata, spec: anyVmiSpec }, { requiredKeys: ['spec'] }),
        instancetype: fc.record({ name: anyText }),
        beside: anyJson,
      },
      { requiredKeys: ['power', 'vmi'] },
    )
    .map(({ metadata, power, vmi, instancetype, beside }): VmTemplate => ({
      ...(metadata === undefined ? {} : { metadata }),
      spec: {
        ...power,
        template: vmi,
        ...(instancetype === undefined ? {} : { instancetype }),
        ...(beside === undefined ? {} : { beside }),
        ...(disks.length === 0 ? {} : { dataVolumeTemplates: disks }),
      },
    }));
