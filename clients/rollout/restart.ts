import { RESTARTED_AT_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { PoolTemplate } from '../../decisions/template/template.ts';

interface VmiTemplate {
  metadata?: { annotations?: Record<string, string> };
}

/** Returns the template with an annotation that asks to restart every VMI that was started before `at` (RFC 3339). */
export function restarted(template: PoolTemplate, at: string): PoolTemplate {
  const vmi = template.spec.template as VmiTemplate;
  const annotations = { ...vmi.metadata?.annotations, [RESTARTED_AT_ANNOTATION]: at };
  return { ...template, spec: { ...template.spec, template: { ...vmi, metadata: { ...vmi.metadata, annotations } } } };
}
