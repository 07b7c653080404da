import type { KubeObject } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import type { OwnerKind } from '../cli/kinds.ts';
import type { Owner } from '../cli/owner.ts';

/**
 * Statuses of the API server for a VM that is itself wrong. Others (rights, quota, load) say nothing about the
 * template.
 */
const WRONG = new Set([400, 413, 422]);

/** No VM is named so: pools count from 1, and sets append five characters. */
const SUFFIX = 0;

/** What the API server says about a VM of a template. */
type MemberCheck = { result: 'right' } | { result: 'refused' | 'unchecked'; message: string };

/**
 * Has the API server dry-run one VM, or other member, of the template, with its schema and KubeVirt's webhooks. Refuses
 * fields that the schema doesn't know: KubeVirt would never see them.
 */
export async function checkMember(
  kube: KubeClient,
  { members }: OwnerKind,
  { metadata, spec }: Owner,
): Promise<MemberCheck> {
  const { labels, annotations } = spec.template.metadata ?? {};
  const member: KubeObject = {
    metadata: {
      name: `${metadata.name}-${SUFFIX}`,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: spec.template.spec,
  };
  try {
    await kube.create(members.resource, member, { dryRun: true, strict: true });
    return { result: 'right' };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    // The API server checks for an existing object of the same name last.
    if (error.status === 409) return { result: 'right' };
    return { result: WRONG.has(error.status) ? 'refused' : 'unchecked', message: error.message };
  }
}
