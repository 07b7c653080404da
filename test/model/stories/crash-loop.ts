import { VirtualMachines } from '../../../api/resources.ts';
import { NAMESPACE } from '../world/names.ts';
import { type World } from '../world/world.ts';

/** Has the VM fail at each start from now on, and ends its VMI. */
export const crashLoop = (world: World, name: string): void => {
  world.server.write(VirtualMachines, { namespace: NAMESPACE, name }, (vm) => {
    const { spec } = vm as unknown as { spec: { template: { metadata?: { annotations?: object } } } };
    const metadata = {
      ...spec.template.metadata,
      annotations: { ...spec.template.metadata?.annotations, 'sim.drover.dev/fail-starts': 'always' },
    };
    return { ...vm, spec: { ...spec, template: { ...spec.template, metadata } } };
  });
  world.kubevirt.crash(name);
};
