import type { KubeClient } from '../../../../kubernetes/client.ts';
import { KINDS } from '../../../deploy/service-accounts.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

const READS = ['get', 'list', 'watch'];
export const LOOK: Rule[] = [
  { apiGroups: ['drover.dev'], resources: ['virtualmachinepools', 'virtualmachineoperations'], verbs: READS },
  { apiGroups: ['kubevirt.io'], resources: ['virtualmachines', 'virtualmachineinstances'], verbs: READS },
];
export const STEER: Rule[] = [
  ...LOOK,
  { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'], verbs: ['patch'] },
];

/** Gives a user or a group rights in a namespace. */
export async function grant(
  kube: KubeClient,
  namespace: string,
  subject: { kind: 'User' | 'Group'; name: string },
  rules: Rule[],
): Promise<void> {
  const name = `${subject.kind}-${subject.name}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const apiGroup = 'rbac.authorization.k8s.io';
  await kube.create(KINDS['Role']!, { metadata: { namespace, name }, rules });
  await kube.create(KINDS['RoleBinding']!, {
    metadata: { namespace, name },
    roleRef: { apiGroup, kind: 'Role', name },
    subjects: [{ apiGroup, ...subject }],
  });
}
