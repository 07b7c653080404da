import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

/** Search attributes of drover's workflows in Temporal's lists; `drover setup` registers them. */
export const DroverCluster = defineSearchAttributeKey('DroverCluster', SearchAttributeType.KEYWORD);
export const DroverNamespace = defineSearchAttributeKey('DroverNamespace', SearchAttributeType.KEYWORD);
export const DroverPool = defineSearchAttributeKey('DroverPool', SearchAttributeType.KEYWORD);
export const DroverReplicaSet = defineSearchAttributeKey('DroverReplicaSet', SearchAttributeType.KEYWORD);
export const DroverRevision = defineSearchAttributeKey('DroverRevision', SearchAttributeType.KEYWORD);
/** Namespaces in which a run that a user started has touched VMs or pools; nothing else records which. */
export const DroverNamespaces = defineSearchAttributeKey('DroverNamespaces', SearchAttributeType.KEYWORD_LIST);
export const DroverPhase = defineSearchAttributeKey('DroverPhase', SearchAttributeType.KEYWORD);

export const searchAttributes = [
  DroverCluster,
  DroverNamespace,
  DroverNamespaces,
  DroverPool,
  DroverReplicaSet,
  DroverRevision,
  DroverPhase,
];
