import type { Names } from "./client";
import { addressOf, type Game, type Games, type Reason } from "./state";
import { counted, rate, span } from "./words";

const BASES: Record<Game["by"], string> = { behaviour: "by behaviour", dscp: "by its DSCP", rule: "by a rule" };

function basisOf({ by, name, confidence }: Game): string {
  const called = name === null ? "" : ` (${name})`;
  const sure = confidence === null ? "" : `, ${(confidence * 100).toFixed(0)} % sure`;
  return `${BASES[by]}${called}${sure}`;
}

export function reasonOf({ what, value, bound, threshold, unit }: Reason): string {
  const digits = Number.isInteger(value) ? 0 : 1;
  return `${what} ${value.toFixed(digits)} ${unit} (${bound} ${threshold})`;
}

function Found({ game, names }: { game: Game; names: Names }) {
  const home = names[addressOf(game.receiver)] ?? game.receiver;
  return (
    <li>
      <span class="who">
        {game.sender} to {home}
      </span>
      <span class="rate">{rate(game.rate_bps)}</span>
      <span class="fate">
        {basisOf(game)}, for {span(game.for_s)}
      </span>
      {game.reasons.length > 0 && <span class="fate">{game.reasons.map(reasonOf).join("; ")}</span>}
    </li>
  );
}

export function FoundGames({ games, names }: { games: Games; names: Names }) {
  return (
    <section id="games">
      <h2>Games</h2>
      {games.found.length === 0 && <p>No game is found.</p>}
      <ul>
        {games.found.map((game) => (
          <Found key={`${game.protocol} ${game.sender} ${game.receiver}`} game={game} names={names} />
        ))}
      </ul>
      {games.more > 0 && <p>{counted(games.more, "game")} more</p>}
      {games.others > 0 && <p>{counted(games.others, "flow")} of UDP that behave like none</p>}
    </section>
  );
}
