/** A part of the time of each frame. The layout and the paint of a drawing then take several times as long. */
export class FrameTime {
  readonly #ms: number;
  #end: number | null = null;

  /** `ms`: milliseconds. */
  constructor(ms: number) {
    this.#ms = ms;
  }

  begin(): void {
    this.#end = null;
  }

  /** Whether a drawing must wait for a later frame. The first of a frame never does, so that all are drawn at last. */
  get isOver(): boolean {
    const now = performance.now();
    this.#end ??= now + this.#ms;
    return now > this.#end;
  }
}
