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

  // Of `tallybayes.core.spelling`: scripts without blanks between words; characters that are left out.
  const UNSPACED = new RegExp(
    "[" +
      "\\u0E01-\\u0E3A\\u0E40-\\u0E4E\\u0E81-\\u0EBD\\u0EC0-\\u0ECE\\u0EDC-\\u0EDF\\u1000-\\u103F\\u1050-\\u108F" +
      "\\u109A-\\u109D\\u1780-\\u17D3\\u17D7\\u17DC-\\u17DD\\u1950-\\u1974\\u1980-\\u19C9\\u1A20-\\u1A7C" +
      "\\u1B00-\\u1B4C\\u3005-\\u3007\\u3021-\\u3029\\u3038-\\u303B\\u3041-\\u3096\\u3099-\\u309A\\u309D-\\u309F" +
      "\\u30A1-\\u30FA\\u30FC-\\u30FF\\u3105-\\u312F\\u31A0-\\u31BF\\u31F0-\\u31FF\\u3400-\\u4DBF\\u4E00-\\u9FFF" +
      "\\uA000-\\uA48C\\uA980-\\uA9C0\\uA9E0-\\uA9EF\\uA9FA-\\uA9FE\\uAA60-\\uAA76\\uAA7A-\\uAADD\\uF900-\\uFAFF" +
      "\\u{16FE0}-\\u{18D08}\\u{1B000}-\\u{1B2FB}\\u{20000}-\\u{3FFFD}" +
      "]",
    "u",
  );
  const HIDDEN = new RegExp(
    "[" +
      "\\u00AD\\u034F\\u0591-\\u05BD\\u05BF\\u05C1-\\u05C2\\u05C4-\\u05C5\\u05C7\\u0600-\\u0605\\u0610-\\u061A" +
      "\\u061C\\u0640\\u064B-\\u0652\\u0656-\\u065F\\u0670\\u06D6-\\u06DD\\u06DF-\\u06E4\\u06E7-\\u06E8" +
      "\\u06EA-\\u06ED\\u070F\\u08CA-\\u08FF\\u180B-\\u180F\\u200C-\\u200F\\u202A-\\u202E\\u2060-\\u206F" +
      "\\uFE00-\\uFE0F\\uFEFF\\uFFF9-\\uFFFB\\u{1F3FB}-\\u{1F3FF}\\u{E0000}-\\u{E01EF}" +
      "]",
    "u",
  );
  const SIGN = /[\p{P}\p{S}]/u;
  const ALONE = /[\p{So}\p{Sc}]/u; // signs that form no runs
  const EMOTICON = /^[:;=][-'^]?(?:[)(\]\[}{|*]|[DdPpOo/\\](?![\p{L}\p{N}_/\\]))/u;
  const [MOST_SIGNS, LEAST_GRAM, MOST_GRAM] = [3, 2, 4];

  function spelled(text, lower) {
    const parts = (c) => {
      if (HIDDEN.test(c)) return "";
      const plain = c.normalize("NFKD");
      return lower ? [...plain].map(folded).join("").normalize("NFKD") : plain;
    };
    return [...text].map(parts).join("").normalize("NFC");
  }

  function kindOf(c) {
    if (UNSPACED.test(c)) return "unspaced";
    if (WORD.test(c)) return "word";
    if (c === "\uFFFD") return "blank";
    if (MARK.test(c)) return "mark";
    return SIGN.test(c) ? "sign" : "blank";
  }

  // The words, signs and unspaced runs of a text, each with its kind.
  function pieces(text, by) {
    const [found, letters] = [[], [...spelled(text, by.lower)]];
    const joins = (i) => (letters[i] === "'" || letters[i] === "’") && i + 1 < letters.length && kindOf(letters[i + 1]) === "word";
    const emoticon = (i) => (EMOTICON.exec(letters.slice(i, i + 4).join("")) || [""])[0];
    for (let i = 0, j; i < letters.length; i = j) {
      const kind = kindOf(letters[i]);
      j = i + 1;
      if (kind === "word") {
        while (j < letters.length && (["word", "mark"].includes(kindOf(letters[j])) || joins(j))) j++;
        const word = letters.slice(i, j).join("").replaceAll("’", "'");
        if (bytes(word) <= LONGEST) found.push([word, kind]);
      } else if (kind === "unspaced") {
        while (j < letters.length && ["unspaced", "mark"].includes(kindOf(letters[j]))) j++;
        found.push([letters.slice(i, j).join(""), kind]);
      } else if (kind === "sign") {
        const smile = emoticon(i);
        if (smile !== "") j = i + smile.length;
        else if (!ALONE.test(letters[i])) while (letters[j] === letters[i] && emoticon(j) === "") j++;
        found.push([smile !== "" ? smile : letters.slice(i, Math.min(j, i + MOST_SIGNS)).join(""), kind]);
      }
    }
    return found;
  }

  // The words and signs of a text; where words have no blanks between them, runs of characters. Only words form phrases.
  function parted(text, by) {
    if (by.words !== "text" || by.characters !== null) {
      const all = by.words === "text" ? pieces(text, by).map(([piece]) => piece) : wordsOf(text, by);
      return { words: all, others: [] };
    }
    const [words, others] = [[], []];
    for (const [piece, kind] of pieces(text, by)) {
      if (kind === "word") words.push(piece);
      else if (kind === "sign") {
        if (by.ngrams[0] === 1) others.push(piece);
      } else {
        const letters = [...piece];
        const most = Math.min(MOST_GRAM, letters.length);
        for (let n = Math.min(LEAST_GRAM, letters.length); n <= most; n++)
          for (let i = 0; i + n <= letters.length; i++) others.push(letters.slice(i, i + n).join(""));
      }
    }
    return { words, others };
  }

  // The tags of a text, or of a list, without the blanks around them.
  function tagsOf(text, separator) {
    const tags = typeof text === "string" ? text.split(text.startsWith("\x1f") ? "\x1f" : separator) : text.filter((tag) => tag !== null);
    return tags.map((tag) => String(tag).replace(/^[ \t-\r]+|[ \t-\r]+$/g, "")).filter((tag) => tag !== "");
  }

  // The words of a text, as `tallybayes.core.tokens.Tokens` splits them.
  function wordsOf(text, by) {
    const fold = by.lower ? folded : (c) => c;
    if (by.words === "lines") return text.split("\n").map((line) => [...line].map(fold).join("")).filter((w) => w !== "");
    if (by.words === "tags") return tagsOf(text, by.separator).map((tag) => [...tag].map(fold).join(""));
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
    const fold = (w) => (by.words === "text" ? spelled(w, by.lower).replaceAll("’", "'") : by.lower ? [...w].map(folded).join("") : w);
    const stop = new Set(by.stop_words.map(fold));
    const known = (token) => !stop.has(token);
    const parts = parted(text, by);
    const words = parts.words.filter(known);
    parts.others.filter(known).forEach(add);
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
      return (row) => {
        const value = row[term.column];
        return isMissing(value) || value < (term.least ?? -Infinity) ? null : offset.map((o, k) => o + times(slope[k], value));
      };
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

  // ---------------------------------------------------------------------------------------- columns read from others

  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  const TIME = "([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\\.[0-9]{1,9})?))?\\s*([AaPp][Mm])?";
  const DATE = "([0-9]{1,4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,4})";
  const ZONE = "(Z|z|UTC|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})?";
  const WHEN = new RegExp(`^\\s*${DATE}(?:[Tt\\s]\\s*${TIME})?\\s*${ZONE}\\s*$`);
  const CLOCK = new RegExp(`^\\s*${TIME}\\s*$`);
  const NUMBER = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

  // Milliseconds since midnight; null where there is no such time.
  function clockOf([hour, minute, second, half]) {
    if (hour === undefined) return 0;
    let [h, m, s] = [Number(hour), Number(minute), Number(second || 0)];
    if (h > 23 || m > 59 || s >= 60 || (half && !(h >= 1 && h <= 12))) return null;
    if (half) h = (h % 12) + (half.toLowerCase() === "pm" ? 12 : 0);
    return (h * 60 + m) * 60000 + s * 1000;
  }

  // Milliseconds since 1970; null where a value is no date.
  function when(value, order) {
    if (typeof value === "number") return order === "epoch_ms" ? value : value * 1000; // since 1970
    const found = (order === "hms" ? CLOCK : WHEN).exec(String(value));
    if (found === null) return null;
    if (order === "hms") return clockOf(found.slice(1, 5));
    const fields = {};
    [...(found[1].length === 4 || order === "" ? "ymd" : order)].forEach((field, i) => (fields[field] = found[1 + i]));
    if (fields.d.length > 2 || fields.m.length > 2 || ![2, 4].includes(fields.y.length)) return null;
    let [y, m, d] = [Number(fields.y), Number(fields.m), Number(fields.d)];
    if (fields.y.length === 2) y += y >= 69 ? 1900 : 2000;
    const day = new Date(0);
    day.setUTCFullYear(y, m - 1, d);
    const clock = clockOf(found.slice(4, 8));
    if (clock === null || day.getUTCMonth() !== m - 1 || day.getUTCDate() !== d) return null;
    const zone = /^([+-])([0-9]{2}):?([0-9]{2})?$/.exec(found[8] || "");
    const ahead = zone === null ? 0 : (zone[1] === "+" ? 1 : -1) * (Number(zone[2]) * 60 + Number(zone[3] || 0));
    return day.getTime() + clock - ahead * 60000;
  }

  function partOf(time, by) {
    const [day, low, high] = [new Date(time), by.low === null ? -Infinity : by.low, by.high === null ? Infinity : by.high];
    const within = (x) => Math.min(Math.max(x, low), high);
    return {
      year: () => within(day.getUTCFullYear()),
      month: () => MONTHS[day.getUTCMonth()],
      day: () => day.getUTCDate(),
      weekday: () => WEEKDAYS[day.getUTCDay()],
      hour: () => day.getUTCHours(),
      minutes: () => (((time % 86400000) + 86400000) % 86400000) / 60000,
      days: () => within(time / 86400000) - (by.low === null ? 0 : by.low),
    }[by.part]();
  }

  const replaceIn = (text, replaced) => replaced.reduce((left, [old, put]) => left.split(old).join(put), text);

  function readFrom(row, by) {
    const value = row[by.source];
    if (isMissing(value) || by.missing.some((word) => word === value || String(word) === String(value))) return undefined;
    if (by.date !== null) {
      const time = when(typeof value === "string" ? replaceIn(value, by.date.replaced) : value, by.date.order);
      return time === null || Number.isNaN(time) ? undefined : partOf(time, by.date);
    }
    if (by.number === null || typeof value !== "string") return value;
    const text = replaceIn(value, by.number.replaced).trim();
    return NUMBER.test(text) ? Number(text) : undefined;
  }

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
    const readings = Object.entries(record.readings || {});
    function score(given) {
      const row = readings.length ? Object.assign(Object.create(null), given) : given;
      for (const [name, by] of readings) row[name] = readFrom(given, by);
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
