// Scores rows by the JSON form of a model (`Model.to_json`): a row, an object of column to value, becomes probabilities.
// Plain JavaScript without dependencies; in a page it is the object `tallybayes`, in node a module.
"use strict";

const tallybayes = (() => {
  const FAR = 1e9; // log odds that stand for infinite ones

  const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
  const key = (level) => (typeof level === "boolean" ? Number(level) : level); // true and 1 are one level
  const numbers = (values) => values.map((v) => (Array.isArray(v) ? numbers(v) : Number(v))); // "-Infinity" too
  // A table as it is, or, in a page, as the different rows and which of them each word has.
  function table(values) {
    if (Array.isArray(values)) return numbers(values);
    const rows = numbers(values.rows);
    return values.which.map((i) => rows[i]);
  }
  const times = (slope, x) => (x === 0 ? 0 : slope * x);

  // How many edges a number has passed: those at or below it, or strictly below it.
  function passed(edges, x, above) {
    let low = 0;
    let high = edges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (above ? edges[middle] < x : edges[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const places = (levels) => new Map(levels.map((level, i) => [key(level), i]));

  function placeOf(part) {
    const known = part.levels === null ? null : places(part.levels);
    return (row) => {
      const value = row[part.column];
      if (isMissing(value)) return part.missing;
      if (known === null) return passed(part.edges, value, false);
      const place = known.get(key(value));
      return place === undefined ? null : place;
    };
  }

  function bell(term) {
    const [mean, precision, norm] = [term.mean, term.precision, term.log_norm].map(numbers);
    return (value) => {
      if (term.log && !(value > 0)) return null;
      const x = term.log ? Math.log(value) : value;
      return mean.map((m, k) => norm[k] - 0.5 * (x - m) * (x - m) * precision[k]);
    };
  }

  // ---------------------------------------------------------------------------------------- texts

  const DROPPED = /[\u00AD\u200C\u200D\u2060\uFE00-\uFE0F\u{1F3FB}-\u{1F3FF}]/u; // invisible, or a variant
  const HIRAGANA = "\\u3041-\\u3096\\u{1B001}-\\u{1B11F}\\u{1B132}\\u{1B150}-\\u{1B152}";
  const SINGLE = new RegExp(`[\\p{So}\\p{Sc}\\p{Unified_Ideograph}\\uF900-\\uFAFF\\u{2F800}-\\u{2FA1F}${HIRAGANA}]`, "u");
  const WORD = /[\p{L}\p{N}]/u;
  const MARK = /\p{M}/u;
  const CHEROKEE = /\p{Script=Cherokee}/u; // whose small letters are folded to the capitals, which are older
  const LONGEST = 255; // bytes of a word

  function folded(c) {
    if (CHEROKEE.test(c)) return c.toUpperCase();
    return c === "ı" ? c : c.toLowerCase().toUpperCase().toLowerCase();
  }

  const bytes = (text) => new TextEncoder().encode(text).length;

  // The words of a text, as `tallybayes.core.tokens.Tokens` splits them.
  function wordsOf(text, by) {
    const fold = by.lower ? folded : (c) => c;
    if (by.words === "lines") return text.split("\n").map((line) => [...line].map(fold).join("")).filter((w) => w !== "");
    if (by.words === "sklearn") return (by.lower ? text.toLowerCase() : text).match(/[\p{L}\p{N}_]{2,}/gu) || [];
    const [found, letters] = [[], [...text]];
    let word = "";
    const finish = () => {
      if (word !== "" && bytes(word) <= LONGEST) found.push(word);
      word = "";
    };
    letters.forEach((c, i) => {
      if (DROPPED.test(c)) return;
      if (c === "\uFFFD") {
        finish(); // what was no text
      } else if (SINGLE.test(c)) {
        finish();
        word = c;
        finish();
      } else if (WORD.test(c) || (word !== "" && MARK.test(c))) {
        word += fold(c);
      } else {
        const next = letters[i + 1] || "";
        const inside = (c === "'" || c === "’") && word !== "" && (WORD.test(next) || next === "_") && !SINGLE.test(next);
        if (inside) word += "'";
        else finish();
      }
    });
    finish();
    return found;
  }

  // The tokens of a text and how often each occurs.
  function counted(text, by) {
    const counts = new Map();
    const add = (token) => counts.set(token, (counts.get(token) || 0) + 1);
    const stop = new Set(by.lower ? by.stop_words.map((w) => [...w].map(folded).join("")) : by.stop_words);
    const words = wordsOf(text, by).filter((word) => !stop.has(word));
    if (by.characters === null) {
      const [least, most] = by.ngrams;
      words.forEach((_, i) => {
        for (let n = least; n <= most && n <= i + 1; n++) add(words.slice(i + 1 - n, i + 1).join(" "));
      });
      return counts;
    }
    for (const word of words) {
      const letters = [...` ${word} `];
      for (let n = by.characters[0]; n <= by.characters[1]; n++) {
        const wide = Math.min(n, letters.length);
        for (let i = 0; i + wide <= letters.length; i++) add(letters.slice(i, i + wide).join(""));
        if (wide === letters.length) break;
      }
    }
    return counts;
  }

  // The known words of a text with their amounts.
  function amounts(text, term, known) {
    const counts = [...counted(text, term.tokens)].map(([token, n]) => [token, term.tokens.damped ? Math.log1p(n) : n]);
    let scale = 1;
    if (term.tokens.scaled) {
      const squares = counts.reduce((sum, [, x]) => sum + x * x, 0);
      if (squares > 0) scale = 1 / Math.sqrt(squares);
    }
    let found = counts.filter(([token]) => known.has(token)).map(([token, x]) => [token, x * scale]);
    if (term.length !== null) {
      const total = found.reduce((sum, [, x]) => sum + x, 0);
      if (total > 0) found = found.map(([token, x]) => [token, (x * term.length) / total]);
    }
    return term.binary ? found.map(([token]) => [token, 1]) : found;
  }

  // An expression becomes a function from x to K numbers; what is the same for all classes is a single one.
  function expression(given) {
    if (given === "x") return (x) => [x];
    if (typeof given[0] !== "string" || !OPERATIONS[given[0]]) {
      const constants = numbers(given);
      return () => constants;
    }
    const [combine, parts] = [OPERATIONS[given[0]], given.slice(1).map(expression)];
    return (x) => {
      const values = parts.map((part) => part(x));
      const n = Math.max(...values.map((each) => each.length));
      return Array.from({ length: n }, (_, k) => combine(values.map((each) => each[k % each.length])));
    };
  }
  const OPERATIONS = {
    add: (values) => values.reduce((a, b) => a + b),
    mul: (values) => values.reduce((a, b) => a * b),
    log: (values) => Math.log(values[0]),
  };

  // Each kind of term becomes a function from a row to K scores, or to null where it adds nothing.
  const TERMS = {
    levels(term) {
      const [known, scores] = [places(term.levels), numbers(term.scores)];
      const [missing, unseen] = [numbers(term.missing), numbers(term.unseen)];
      return (row) => {
        const value = row[term.column];
        if (isMissing(value)) return missing;
        const place = known.get(key(value));
        return place === undefined ? unseen : scores[place];
      };
    },
    bins(term) {
      const [edges, scores] = [numbers(term.edges), numbers(term.scores)];
      return (row) => (isMissing(row[term.column]) ? null : scores[passed(edges, row[term.column], term.above)]);
    },
    pair(term) {
      const [first, second] = term.parts.map(placeOf);
      const scores = numbers(term.scores);
      return (row) => {
        const [a, b] = [first(row), second(row)];
        return a === null || b === null ? null : scores[a][b];
      };
    },
    normal(term) {
      const evaluate = bell(term);
      return (row) => (isMissing(row[term.column]) ? null : evaluate(row[term.column]));
    },
    spike(term) {
      const [zero, other, evaluate] = [numbers(term.zero), numbers(term.other), bell(term.rest)];
      return (row) => {
        const value = row[term.column];
        if (isMissing(value)) return null;
        if (value === 0) return zero;
        const rest = evaluate(value);
        return rest === null ? other : other.map((o, k) => o + rest[k]);
      };
    },
    line(term) {
      const [slope, offset] = [numbers(term.slope), numbers(term.offset)];
      return (row) => (isMissing(row[term.column]) ? null : offset.map((o, k) => o + times(slope[k], row[term.column])));
    },
    formula(term) {
      const evaluate = expression(term.expression);
      return (row) => {
        const value = row[term.column];
        return isMissing(value) || (term.above !== null && !(value > term.above)) ? null : evaluate(value);
      };
    },
    bag(term) {
      const slopes = table(term.slopes);
      return (row) => {
        const counts = term.columns.map((column) => (isMissing(row[column]) ? 0 : row[column]));
        const total = counts.reduce((a, b) => a + b, 0);
        const scale = term.length !== null && total > 0 ? term.length / total : 1;
        const scores = new Array(slopes.length ? slopes[0].length : 0).fill(0);
        counts.forEach((x, v) => {
          if (x !== 0) slopes[v].forEach((slope, k) => (scores[k] += slope * x * scale));
        });
        return scores;
      };
    },
    text(term) {
      const [known, slopes, offset] = [places(term.words), table(term.slopes), numbers(term.offset)];
      const each = (row) =>
        amounts(row[term.column], term, known).map(([word, x]) => ({ word, evidence: slopes[known.get(word)].map((s) => s * x) }));
      const correction = term.correction === null ? [] : numbers(term.correction);
      const evaluate = (row) => {
        if (isMissing(row[term.column])) return null;
        const [scores, words] = [offset.slice(), each(row)];
        if (words.length) correction.forEach((s, k) => (scores[k] += s));
        for (const { evidence } of words) evidence.forEach((s, k) => (scores[k] += s));
        return scores;
      };
      evaluate.words = each; // what each word adds
      return evaluate;
    },
    ellipsoid(term) {
      const [mean, scale, axes, norm] = [term.mean, term.scale, term.axes, term.log_norm].map(numbers);
      return (row) => {
        const x = term.columns.map((column) => row[column]);
        if (x.some(isMissing)) return null;
        return norm.map((n, k) => {
          const z = x.map((v, i) => (v - mean[k][i]) / scale[i]);
          let total = 0;
          for (let r = 0; r < z.length; r++) {
            const along = z.reduce((sum, v, i) => sum + v * axes[k][i][r], 0);
            total += along * along;
          }
          return n - 0.5 * total;
        });
      };
    },
    together(term) {
      const [mean, axes, precision, norm] = [term.mean, term.axes, term.precision, term.log_norm].map(numbers);
      const [n, far] = [term.degrees, term.farthest];
      return (row) => {
        const x = term.columns.map((column) => row[column]);
        if (x.some(isMissing)) return null;
        const z = x.map((v, i) => Math.min(Math.max((v - term.centre[i]) / term.scale[i], -far), far));
        return norm.map((constant, k) => {
          const u = z.map((v, i) => v - mean[k][i]);
          const alone = u.reduce((sum, v, i) => sum + Math.log(1 + (v * v * precision[k][i]) / n), 0);
          let total = 0;
          for (let r = 0; r < u.length; r++) {
            const along = u.reduce((sum, v, i) => sum + v * axes[k][i][r], 0);
            total += along * along;
          }
          return term.power * (constant + 0.5 * (n + 1) * alone - 0.5 * (n + u.length) * Math.log(1 + total / n));
        });
      };
    },
  };

  function logSoftmax(scores) {
    const top = Math.max(...scores);
    const total = Math.log(scores.reduce((sum, s) => sum + Math.exp(s - top), 0));
    return scores.map((s) => s - top - total);
  }

  function logOdds(logs, k) {
    const others = logs.filter((_, j) => j !== k);
    const top = Math.max(...others);
    const against = top === -Infinity ? top : top + Math.log(others.reduce((sum, p) => sum + Math.exp(p - top), 0));
    if (logs[k] === -Infinity && against === -Infinity) return -FAR;
    return Math.min(Math.max(logs[k] - against, -FAR), FAR);
  }

  function interpolated(curve, at) {
    const [x, y] = [curve.log_odds, curve.probability];
    const i = passed(x, at, false);
    if (i === 0 || i === x.length) return y[i === 0 ? 0 : y.length - 1];
    return ((y[i] - y[i - 1]) / (x[i] - x[i - 1])) * (at - x[i - 1]) + y[i - 1];
  }

  const CALIBRATIONS = {
    temperature: (by, logs) => logSoftmax(logs.map((p) => p / by.temperature)).map(Math.exp),
    isotonic(by, logs) {
      const classes = by.curves.length > 1 ? logs.map((_, k) => k) : [1];
      let own = classes.map((k, i) => interpolated(by.curves[i], logOdds(logs, k)));
      own = own.map((p) => Math.min(Math.max(p, by.margin), 1 - by.margin));
      if (own.length === 1) own = [1 - own[0], own[0]];
      const total = own.reduce((a, b) => a + b, 0);
      return total > 0 ? own.map((p) => p / total) : logs.map(Math.exp);
    },
  };

  const columnsOf = (term) => term.columns || (term.parts ? term.parts.map((part) => part.column) : [term.column]);

  // A scorer made of the record: `score(row)` returns the probabilities and what each term added to each class.
  function scorer(record) {
    if (record.format !== "tallybayes scorer" || record.version !== 1) {
      throw new Error(`this scorer reads version 1 of the format, not ${record.format} ${record.version}`);
    }
    const prior = numbers(record.prior);
    const fallback = numbers(record.fallback);
    const terms = record.terms.map((term) => ({ columns: columnsOf(term), evaluate: TERMS[term.is](term) }));
    function score(row) {
      const scores = prior.slice();
      const added = terms.map(({ columns, evaluate }) => {
        const evidence = evaluate(row);
        if (evidence !== null) evidence.forEach((s, k) => (scores[k] += s));
        return { columns, evidence };
      });
      const logs = logSoftmax(Math.max(...scores) === -Infinity ? fallback : scores);
      const probabilities =
        record.calibration === null ? logs.map(Math.exp) : CALIBRATIONS[record.calibration.is](record.calibration, logs);
      return { probabilities, prior, added };
    }
    const words = (column, row) => {
      const term = terms.find(({ columns, evaluate }) => columns[0] === column && evaluate.words);
      return term === undefined || isMissing(row[column]) ? [] : term.evaluate.words(row);
    };
    return { classes: record.classes, terms: record.terms, score, words };
  }

  return { scorer, counted };
})();

if (typeof module !== "undefined") module.exports = tallybayes;
