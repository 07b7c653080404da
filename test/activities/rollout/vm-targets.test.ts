import { describe, expect, test } from 'vitest';
import type { Revisions } from '../../../activities/rollout/revisions.ts';
import { VmTargets, type VmTargetsOptions } from '../../../activities/rollout/vm-targets.ts';
import type { Stored } from '../../../api/objects.ts';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { vmView, type VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { PoolTemplate } from '../../../decisions/template/template.ts';
import { vmFromTemplate, type NewVirtualMachine } from '../../../decisions/template/vm-from-template.ts';
import { aPool } from '../../decisions/fixtures/fleets.ts';

/** What instance types stand for, as virt-api says. */
const SIZES: Record<string, object> = {
  small: { cpu: { sockets: 1 }, memory: { guest: '1Gi' } },
  large: { cpu: { sockets: 4 }, memory: { guest: '8Gi' }, ioThreadsPolicy: 'auto' },
};

interface Given {
  size?: string;
  domain?: object;
  labels?: Record<string, string>;
}

const templateOf = ({ size, domain = {}, labels = {} }: Given): VmTemplate => ({
  metadata: { labels },
  spec: {
    runStrategy: 'Always',
    ...(size === undefined ? {} : { instancetype: { name: size } }),
    template: { spec: { domain: { devices: {}, ...domain } } },
  },
});

/** As KubeVirt replaces it, with `configuration.instancetype.referencePolicy: expand`. */
function expandedTemplate(template: VmTemplate): VmTemplate | undefined {
  const { instancetype, ...spec } = template.spec as { instancetype?: { name: string }; template: never };
  const { spec: vmi } = spec.template as { spec: { domain: object } };
  const size = instancetype && SIZES[instancetype.name];
  if (size === undefined) return undefined;
  return {
    ...template,
    spec: { ...spec, template: { spec: { ...vmi, domain: { ...vmi.domain, ...size } } } },
  };
}

/** The VM as KubeVirt leaves it: its labels are those of the template that it was made from. */
function expandedVm(made: NewVirtualMachine, { spec }: VmTemplate): Stored<VirtualMachine> {
  const { metadata } = made.spec['template'] as { metadata: object };
  return { ...made, spec: { ...spec, template: { ...spec.template, metadata } } } as unknown as Stored<VirtualMachine>;
}

/** Brings a VM that KubeVirt has expanded from one template to another. */
async function brought(from: Given, to: Given, tells = true): Promise<VirtualMachine['spec']> {
  const [before, after] = [templateOf(from), templateOf(to)];
  const pool = aPool({ template: after });
  const known = new Map([before, after].map((one) => [revisionOf(one as PoolTemplate), one as PoolTemplate]));
  const revisions = {
    find: (_key: unknown, revision: string) => Promise.resolve(known.get(revision)),
    expanded: (_key: unknown, revision: string) =>
      Promise.resolve(tells ? expandedTemplate(known.get(revision)! as VmTemplate) : undefined),
  } as unknown as Revisions;
  const { namespace, name } = pool.metadata;
  const options = { revisions, key: { namespace, name }, template: after } as unknown as VmTargetsOptions;
  const vm = expandedVm(vmFromTemplate(pool, before, 1), expandedTemplate(before)!);
  const { merged } = await new VmTargets(options).targetOf({ pool, vm, view: vmView(vm), right: undefined });
  return merged.spec;
}

const domainOf = (spec: VirtualMachine['spec']): object =>
  (spec as unknown as { template: { spec: { domain: object } } }).template.spec.domain;

describe('a VM whose instance type KubeVirt has replaced by its content', () => {
  test('keeps that if its template names the same one', async () => {
    const spec = await brought({ size: 'small' }, { size: 'small', labels: { app: 'web' } });
    expect(spec).not.toHaveProperty('instancetype');
    expect(domainOf(spec)).toEqual({ devices: {}, ...SIZES['small'] });
  });

  test('gets the content of the next one, and nothing of the last', async () => {
    const larger = await brought({ size: 'small' }, { size: 'large' });
    expect(larger).not.toHaveProperty('instancetype');
    expect(domainOf(larger)).toEqual({ devices: {}, ...SIZES['large'] });
    expect(domainOf(await brought({ size: 'large' }, { size: 'small' }))).toEqual({ devices: {}, ...SIZES['small'] });
  });

  test('gets the size that its template gives instead of one', async () => {
    const size = { cpu: { sockets: 2 }, memory: { guest: '2Gi' } };
    expect(domainOf(await brought({ size: 'large' }, { domain: size }))).toEqual({ devices: {}, ...size });
  });

  test('fails alone if KubeVirt does not report the content of the next one', async () => {
    await expect(brought({ size: 'small' }, { size: 'large' }, false)).rejects.toThrow('does not report');
  });
});
