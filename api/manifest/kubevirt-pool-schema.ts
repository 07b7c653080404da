import * as z from 'zod';
import { atMostOne } from '../pool/one-of.ts';
import { withOwnSelector } from '../pool/own-selector.ts';
import { MAX_REPLICAS, VirtualMachinePool } from '../pool/pool.ts';
import { LabelSelector, LabelSelectorRequirement } from '../pool/selection.ts';
import { Duration, IntOrPercent, WholeNumber } from '../pool/text.ts';
import { VmTemplate } from '../pool/vm-template.ts';

/** The fields of KubeVirt's own VirtualMachinePool that users write. */

const SelectionPolicy = z.strictObject({
  sortPolicy: z.enum(['AscendingOrder', 'DescendingOrder', 'Newest', 'Oldest', 'Random']).exactOptional(),
  selectors: z
    .strictObject({
      labelSelector: LabelSelector.exactOptional(),
      nodeSelectorRequirementMatcher: z.array(LabelSelectorRequirement).max(32).exactOptional(),
    })
    .exactOptional(),
});
export type KubeVirtSelectionPolicy = z.infer<typeof SelectionPolicy>;

const StatePreservation = z.enum(['Disabled', 'Offline', 'Online']);

const PoolSpec = withOwnSelector(
  z.strictObject({
    replicas: WholeNumber.min(0).max(MAX_REPLICAS).exactOptional(),
    selector: LabelSelector,
    virtualMachineTemplate: VmTemplate,
    paused: z.boolean().exactOptional(),
    nameGeneration: z
      .strictObject({
        appendIndexToSecretRefs: z.boolean().exactOptional(),
        appendIndexToConfigMapRefs: z.boolean().exactOptional(),
      })
      .exactOptional(),
    maxUnavailable: IntOrPercent.exactOptional(),
    updateStrategy: atMostOne({
      unmanaged: z.strictObject({}),
      opportunistic: z.strictObject({}),
      proactive: z.strictObject({ selectionPolicy: SelectionPolicy.exactOptional() }),
    }).exactOptional(),
    scaleInStrategy: atMostOne({
      unmanaged: z.strictObject({}),
      opportunistic: z.strictObject({ statePreservation: StatePreservation.exactOptional() }),
      proactive: z.strictObject({
        selectionPolicy: SelectionPolicy.exactOptional(),
        statePreservation: StatePreservation.exactOptional(),
      }),
    }).exactOptional(),
    autohealing: z
      .strictObject({
        startUpFailureThreshold: WholeNumber.min(1).exactOptional(),
        minFailingToStartDuration: Duration.exactOptional(),
      })
      .exactOptional(),
  }),
  'virtualMachineTemplate',
);
export type KubeVirtPoolSpec = z.infer<typeof PoolSpec>;

export const KubeVirtPool = VirtualMachinePool.extend({
  apiVersion: z.enum(['pool.kubevirt.io/v1alpha1', 'pool.kubevirt.io/v1beta1']),
  spec: PoolSpec,
});
export type KubeVirtPool = z.infer<typeof KubeVirtPool>;
