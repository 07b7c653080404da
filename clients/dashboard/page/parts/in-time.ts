import { noChange, nothing } from 'lit-html';
import { Directive, directive, type DirectiveParameters, type Part } from 'lit-html/directive.js';
import { FrameTime } from './frame-time.ts';

const time = new FrameTime(4);
let isLate = false;

/** Calls `draw` for the parts that a frame has time for. Reports whether there are more. */
export function drawnInTime(draw: () => void): boolean {
  time.begin();
  isLate = false;
  draw();
  return isLate;
}

/**
 * One of many parts of a view, drawn when one of the values has changed that it is made from, and in a later frame if
 * this one has no time left: a thousand at once would hold up the page.
 */
class InTime extends Directive {
  #drawn: readonly unknown[] | null = null;

  override render(_values: readonly unknown[], view: () => unknown): unknown {
    return view();
  }

  override update(_part: Part, [values, view]: DirectiveParameters<this>): unknown {
    const drawn = this.#drawn;
    if (drawn !== null && values.every((value, index) => value === drawn[index])) return noChange;
    if (time.isOver) {
      isLate = true;
      return drawn === null ? nothing : noChange;
    }
    this.#drawn = values;
    return this.render(values, view);
  }
}

export const inTime = directive(InTime);
