//! The receiving half of dcPIM: requests, matches, and tokens.

use super::incoming::{Incoming, ReceiverEvent};
use super::matching::{Bid, epoch_and_round, put_bid, round_number, sort_bids};
use super::packets::{Busy, Credit, Data, Token};
use super::schedule::Boundary;
use super::{DcpimParams, Known, Rules, Shared, Terms, TimerKey, control_rtt};
use crate::endpoint::Gone;
use crate::finished::FinishedMessages;
use crate::messages::{MessageId, Messages};
use crate::probes::{self, Sink};
use crate::two_sided::ReceivingHalf;
use headway_packet::{HostId, Packet, PacketKind, TypedView};
use headway_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Rank of the tokens of the first regular match, and of prompt ones. dcPIM §3.5
const FIRST_RANK: u32 = 2;
const PROMPT_RANK: u32 = 7;
/// Frame times that a packet may wait for the host's own link beyond a bandwidth-delay product.
const OWN_LINK: u64 = 2;

/// Channels that were got in this epoch's matching.
#[derive(Clone, Copy)]
struct Got {
    channels: u32,
    /// Packets of the message that they were first for.
    packets: u32,
    /// Order of the first of them among those of the epoch.
    order: usize,
}

/// Channels on which data flows.
#[derive(Clone, Copy)]
struct Match {
    peer: HostId,
    channels: u32,
    rank: u32,
    prompt: bool,
    /// End of its phase, and time of its next token.
    ends: Time,
    due: Time,
}

/// All messages that this host receives.
pub struct Receiver {
    params: DcpimParams,
    known: Known,
    messages: Messages<Incoming>,
    finished: FinishedMessages,
    /// Messages that may be given tokens, of each sender, by fewest packets to come.
    wanted: BTreeMap<HostId, BTreeSet<(u32, u64, u32)>>,
    /// Messages of each sender.
    senders: BTreeMap<HostId, u32>,
    offers: Vec<Bid>,
    /// The epoch that it takes part in, and the channels that it has got.
    epoch: u64,
    got: BTreeMap<HostId, Got>,
    /// Channels that it got in the epoch before, in this one, and of these those that it used at once.
    had: u32,
    taken: u32,
    prompted: u32,
    matches: BTreeMap<u32, Match>,
    numbered: u32,
    /// Tokens to leave out, because a short message takes the link.
    hold_off: u32,
    armed: Option<Time>,
    arrived: u64,
}

impl Receiver {
    pub(super) fn new(params: DcpimParams) -> Receiver {
        Receiver {
            params,
            known: Known::default(),
            messages: Messages::default(),
            finished: FinishedMessages::default(),
            wanted: BTreeMap::new(),
            senders: BTreeMap::new(),
            offers: Vec::new(),
            epoch: 0,
            got: BTreeMap::new(),
            had: 0,
            taken: 0,
            prompted: 0,
            matches: BTreeMap::new(),
            numbered: 0,
            hold_off: 0,
            armed: None,
            arrived: 0,
        }
    }

    /// Makes state for the message that a packet announces.
    pub(super) fn receive_announcement(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        self.ensure_known(shared, now, packet);
    }

    /// Stores a data packet, and completes its message with the last one.
    pub(super) fn receive_data(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let key = (packet.src, packet.message);
        if !self.ensure_known(shared, now, packet) {
            return;
        }
        let Data { index, number, .. } = Data::from_packet(packet);
        let Some(incoming) = self.messages.named_mut(key) else { return };
        if index >= incoming.packets || !incoming.store_packet(index, number) {
            return;
        }
        shared.report_delivered(packet);
        if incoming.received.len() == incoming.packets {
            self.drop_message(key);
            self.finished.insert(key.0, key.1);
            shared.report_completed(packet);
            shared.say_finished(packet);
        }
    }

    /// Makes state for a message that is new; `false` for one that is over, or makes no sense.
    fn ensure_known(&mut self, shared: &mut Shared, now: Time, packet: &Packet) -> bool {
        let key = (packet.src, packet.message);
        if self.messages.find_key(key).is_some() {
            return true;
        }
        if self.finished.contains(key.0, key.1) {
            // The sender has not heard that it is done.
            shared.say_finished(packet);
            return false;
        }
        let Data { window, message_bytes, .. } = Data::from_packet(packet);
        // The length comes from the wire: one of more packets than 32 bits can count is not a message.
        let Ok(packets) = u32::try_from(shared.context.sizes.packets_of(message_bytes)) else { return false };
        let terms = self.known.terms_for(&self.params, &shared.context, key.0);
        self.arrived += 1;
        let path = (shared.context.path)(key.0);
        let way = Time(control_rtt(&path, &shared.context.sizes).0 / 2);
        let mut incoming = Incoming::new(packet, packets, self.arrived, now, now.saturating_sub(way));
        if !incoming.is_eligible() {
            // dcPIM §3.1: the link is theirs for as long as they take.
            self.hold_off = window.min(packets);
            let takes = terms.slot.saturating_mul(packets.into());
            incoming.until = now.saturating_add(takes).saturating_add(self.resend_patience(&terms));
            shared.timers.arm_deadline(incoming.until, TimerKey::Missing(key.0, key.1));
        }
        self.messages.insert(key, incoming);
        *self.senders.entry(key.0).or_default() += 1;
        self.add_wanted(key);
        self.arm_boundary(shared, now);
        true
    }

    /// Longest time that packets may be under way. dcPIM §3.5
    fn resend_patience(&self, terms: &Terms) -> Time {
        terms.bdp_time(self.params.resend_wait).saturating_add(terms.slot.saturating_mul(OWN_LINK))
    }

    fn drop_message(&mut self, key: MessageId) {
        self.remove_wanted(key);
        let Some(mut incoming) = self.messages.remove(key) else { return };
        incoming.state.step(ReceiverEvent::Last);
        if let Some(messages) = self.senders.get_mut(&key.0) {
            *messages -= 1;
            if *messages == 0 {
                self.senders.remove(&key.0);
            }
        }
    }

    /// Adds a message to those that may be given tokens, if it may.
    fn add_wanted(&mut self, key: MessageId) {
        let Some(incoming) = self.messages.named_mut(key) else { return };
        if incoming.is_eligible() {
            let rank = (incoming.to_come(), incoming.order, key.1);
            self.wanted.entry(key.0).or_default().insert(rank);
        }
    }

    /// Takes it out again.
    fn remove_wanted(&mut self, key: MessageId) {
        let Some(incoming) = self.messages.named_mut(key) else { return };
        let rank = (incoming.to_come(), incoming.order, key.1);
        if let Some(wanted) = self.wanted.get_mut(&key.0) {
            wanted.remove(&rank);
            if wanted.is_empty() {
                self.wanted.remove(&key.0);
            }
        }
    }

    /// The wait for packets under way is over.
    pub(super) fn check_overdue(&mut self, shared: &mut Shared, at: Time, now: Time, key: MessageId) {
        let Some(incoming) = self.messages.named_mut(key) else { return };
        if incoming.until == at && !incoming.is_eligible() {
            incoming.end_wait();
            self.add_wanted(key);
            self.arm_boundary(shared, now);
        }
    }

    /// Takes a sender's offer of channels.
    pub(super) fn receive_offer(&mut self, shared: &mut Shared, now: Time, packet: &Packet) {
        let Busy { channels, prompt, round, packets } = Busy::from_packet(packet);
        let (epoch, round) = epoch_and_round(round);
        let (peer, message, tag) = (packet.src, packet.message, packet.tag);
        let Some(began) = self.messages.named_mut((peer, message)).map(|known| known.began) else { return };
        // This host counts rounds by its own clock, and has not asked for that epoch yet.
        if epoch > self.epoch {
            return;
        }
        put_bid(&mut self.offers, Bid { peer, message, tag, epoch, round, packets, began, channels, prompt });
        self.arm_boundary(shared, now);
    }

    fn follows_simulator(&self) -> bool {
        self.params.rules == Rules::Simulator
    }

    /// Arms the next boundary at which there is something to do: the next epoch, or in one that this host takes part in,
    /// the next round.
    fn arm_boundary(&mut self, shared: &mut Shared, now: Time) {
        let Some(terms) = self.known.terms else { return };
        let pending = !self.got.is_empty() || !self.offers.is_empty();
        let began = self.follows_simulator() || self.epoch == terms.schedule.epoch_at(now);
        let at = match pending || began && !self.wanted.is_empty() {
            true => terms.schedule.next_boundary(now),
            false if self.wanted.is_empty() => return,
            false => terms.schedule.next_epoch(now),
        };
        if self.armed.is_none_or(|armed| at < armed) {
            self.armed = Some(at);
            shared.timers.arm_deadline(at, TimerKey::Boundary);
        }
    }

    /// A round or a data phase begins. dcPIM §3.2
    pub(super) fn boundary_due(&mut self, shared: &mut Shared, at: Time, now: Time) {
        // An earlier boundary was armed after this one, and has taken its place.
        if self.armed != Some(at) {
            return;
        }
        self.armed = None;
        let Some(terms) = self.known.terms else { return };
        match terms.schedule.boundary_at(at) {
            Boundary::Data(epoch) => self.begin_data(shared, &terms, epoch, now),
            Boundary::Round(epoch, 1) => {
                // The data phase of the last epoch begins in the same instant where phases are as long as matchings:
                // `Boundary` names one only.
                if self.epoch + 1 == epoch && terms.schedule.data_phase(self.epoch) <= at {
                    self.begin_data(shared, &terms, self.epoch, now);
                }
                self.begin_epoch(epoch);
                self.send_requests(shared, &terms, 1, now);
            }
            Boundary::Round(epoch, round)
                if epoch == self.epoch || !self.offers.is_empty() || self.follows_simulator() =>
            {
                if epoch != self.epoch {
                    self.begin_epoch(epoch);
                }
                self.accept_offers(shared, &terms, round - 1, now);
                self.send_requests(shared, &terms, round, now);
            }
            Boundary::Round(..) => {}
        }
        self.arm_boundary(shared, now);
    }

    /// Takes part in another epoch.
    fn begin_epoch(&mut self, epoch: u64) {
        self.had = if epoch == self.epoch + 1 { self.taken } else { 0 };
        (self.taken, self.prompted) = (0, 0);
        self.got.clear();
        self.epoch = epoch;
    }

    /// Channels on which a match of this epoch may begin at once.
    fn idle_channels(&self, terms: &Terms, now: Time) -> u32 {
        let busy = match self.params.rules {
            Rules::Usual => self.in_use(now),
            // Those of a message that is over are not idle before the next epoch.
            Rules::Simulator => self.had + self.prompted,
        };
        terms.channels.saturating_sub(busy)
    }

    /// Channels that data flows on now.
    fn in_use(&self, now: Time) -> u32 {
        let live = |m: &&Match| m.ends > now && self.senders.contains_key(&m.peer);
        self.matches.values().filter(live).map(|m| m.channels).sum()
    }

    /// Channels that are not matched in this epoch.
    fn free_channels(&self, terms: &Terms) -> u32 {
        terms.channels.saturating_sub(self.got.values().map(|got| got.channels).sum())
    }

    /// Asks every sender that has something for channels. dcPIM §3.2
    fn send_requests(&mut self, shared: &mut Shared, terms: &Terms, round: u64, now: Time) {
        // Requests of an earlier round that a slow wire has not taken yet would be answered too late.
        shared
            .control
            .retain(|packet| packet.kind != PacketKind::Credit || Credit::from_packet(packet).stage != 0);
        let free = self.free_channels(terms);
        let idle = self.idle_channels(terms, now);
        if free == 0 {
            return;
        }
        let firsts: Vec<(HostId, u32, u32)> = self
            .wanted
            .iter()
            .filter_map(|(peer, wanted)| wanted.first().map(|(packets, _, id)| (*peer, *id, *packets)))
            .collect();
        for (peer, id, packets) in firsts {
            // Prompt matches end with the matching, and do not count towards the data phase.
            let regular = |m: &&Match| m.peer == peer && !m.prompt && m.ends > now;
            let running: u32 = self.matches.values().filter(regular).map(|m| m.channels).sum();
            let have = running + self.got.get(&peer).map_or(0, |got| got.channels);
            let packets = match self.params.rules {
                Rules::Usual => packets,
                Rules::Simulator => {
                    self.messages.named_mut((peer, id)).map_or(packets, |known| known.missing_packets())
                }
            };
            if u64::from(have) * u64::from(terms.phase_packets) >= u64::from(packets) {
                continue;
            }
            let channels = (packets.div_ceil(terms.phase_packets) - have).min(free);
            // Asked of every sender, although they share the idle channels: `accept_offers` divides what is offered.
            let prompt = if self.params.prompt { channels.min(idle) } else { 0 };
            let round = round_number((self.epoch, round));
            let ask = Credit { stage: 0, channels, prompt, round, packets };
            self.send_control(shared, (peer, id), ask);
        }
    }

    fn send_control<V: TypedView>(&mut self, shared: &mut Shared, (peer, id): MessageId, view: V) {
        let Some(incoming) = self.messages.named_mut((peer, id)) else { return };
        let packet = shared.control_view(view, peer, id, incoming.tag, incoming.entropy);
        shared.control.push_back(packet);
    }

    /// Takes the offers of a round, as far as channels are free. dcPIM §3.2
    fn accept_offers(&mut self, shared: &mut Shared, terms: &Terms, round: u64, now: Time) {
        let mut offers = std::mem::take(&mut self.offers);
        let smallest = round <= self.params.smallest_rounds;
        sort_bids(&mut offers, shared.context.host, (self.epoch, round), smallest);
        let mut free = self.free_channels(terms);
        let mut idle = self.idle_channels(terms, now);
        for offer in offers {
            let channels = offer.channels.min(free);
            // The message may have ended since it was asked for.
            if channels == 0 || self.messages.find_key((offer.peer, offer.message)).is_none() {
                continue;
            }
            let prompt = channels.min(offer.prompt).min(idle);
            (free, idle) = (free - channels, idle - prompt);
            (self.taken, self.prompted) = (self.taken + channels, self.prompted + prompt);
            let order = self.got.len();
            let first = Got { channels: 0, packets: offer.packets, order };
            self.got.entry(offer.peer).or_insert(first).channels += channels;
            let round = round_number((self.epoch, round));
            let take = Credit { stage: 1, channels, prompt, round, packets: offer.packets };
            self.send_control(shared, (offer.peer, offer.message), take);
            if prompt > 0 {
                let ends = terms.schedule.data_phase(self.epoch);
                let (peer, rank) = (offer.peer, PROMPT_RANK);
                let channels = prompt + self.drop_prompt(peer, ends);
                let prompt = Match { peer, channels, rank, prompt: true, ends, due: now };
                self.begin_match(shared, terms, prompt, now);
            }
        }
    }

    /// Ends the match with a sender that began at once in an earlier round of this epoch; returns its channels. With
    /// what the sender offered now it is one match.
    fn drop_prompt(&mut self, peer: HostId, ends: Time) -> u32 {
        let is_it = |m: &Match| m.prompt && m.peer == peer && m.ends == ends;
        let Some((&number, _)) = self.matches.iter().find(|(_, m)| self.follows_simulator() && is_it(m))
        else {
            return 0;
        };
        self.matches.remove(&number).map_or(0, |m| m.channels)
    }

    /// The data phase of an epoch begins: its matches replace all others. dcPIM §3.5
    fn begin_data(&mut self, shared: &mut Shared, terms: &Terms, epoch: u64, now: Time) {
        if epoch == self.epoch {
            self.accept_offers(shared, terms, self.params.rounds, now);
        }
        let before = std::mem::take(&mut self.matches);
        let got = std::mem::take(&mut self.got);
        if epoch != self.epoch {
            return;
        }
        let mut got: Vec<(HostId, Got)> = got.into_iter().collect();
        // Ranks follow from this order: the smallest message's tokens are used first.
        got.sort_by_key(|(_, got)| (got.packets, got.order));
        let ends = terms.schedule.data_phase(epoch).saturating_add(terms.schedule.period);
        let mut rank = FIRST_RANK;
        for (peer, Got { channels, .. }) in got {
            let same = before.values().find(|m| m.peer == peer && m.channels == channels);
            let due = same.filter(|_| !self.follows_simulator()).map_or(now, |m| m.due.max(now));
            self.begin_match(shared, terms, Match { peer, channels, rank, prompt: false, ends, due }, now);
            rank += channels;
        }
    }

    fn begin_match(&mut self, shared: &mut Shared, terms: &Terms, new: Match, now: Time) {
        self.numbered = self.numbered.wrapping_add(1);
        let number = self.numbered;
        self.matches.insert(number, new);
        if new.due <= now {
            self.give_token(shared, terms, number, now);
        } else {
            shared.timers.arm_deadline(new.due, TimerKey::Token(new.peer, number));
        }
    }

    /// A match's next token is due.
    pub(super) fn token_due(&mut self, shared: &mut Shared, now: Time, number: u32) {
        let Some(terms) = self.known.terms else { return };
        self.give_token(shared, &terms, number, now);
        self.arm_boundary(shared, now);
    }

    /// Gives a token of a match, and arms the next one. dcPIM §3.5
    fn give_token(&mut self, shared: &mut Shared, terms: &Terms, number: u32, now: Time) {
        let Some(&current) = self.matches.get(&number) else { return };
        if now >= current.ends || !self.senders.contains_key(&current.peer) {
            self.matches.remove(&number);
            return;
        }
        // Left out and not put off: the short message takes this frame time of the link.
        if self.hold_off > 0 {
            self.hold_off -= 1;
        } else if let Some(&(_, _, id)) = self.wanted.get(&current.peer).and_then(BTreeSet::first) {
            self.give_one(shared, terms, &current, (current.peer, id), now);
        }
        let channels = u64::from(terms.channels);
        // At least 1 ps, so that time goes on.
        let gap = Time((terms.slot.0.saturating_mul(channels) / u64::from(current.channels)).max(1));
        let due = now.saturating_add(gap);
        if let Some(current) = self.matches.get_mut(&number) {
            current.due = due;
        }
        if due < current.ends {
            shared.timers.arm_deadline(due, TimerKey::Token(current.peer, number));
        }
    }

    fn give_one(&mut self, shared: &mut Shared, terms: &Terms, from: &Match, key: MessageId, now: Time) {
        let patience = self.resend_patience(terms);
        let window_timeout = terms.bdp_time(self.params.window_timeout);
        // Taken out before its numbers change, because it is found by the rank that they give.
        self.remove_wanted(key);
        let Some(incoming) = self.messages.named_mut(key) else { return };
        let token = incoming.next_token(terms, from.channels, window_timeout, now);
        let packets = incoming.to_come().into();
        let waits = incoming.is_pass_over();
        if waits {
            incoming.wait_until(now.saturating_add(patience));
            shared.timers.arm_deadline(incoming.until, TimerKey::Missing(key.0, key.1));
        }
        self.add_wanted(key);
        if let Some((index, number)) = token {
            let grace = terms.slot.saturating_mul(terms.channels.into());
            let lifetime = (from.ends - now).saturating_add(grace);
            let token = Token { index, count: 1, number, rank: from.rank, packets, lifetime };
            self.send_control(shared, key, token);
        }
    }
}

impl ReceivingHalf<TimerKey> for Receiver {
    fn probe_message(&self, id: MessageId, found: &mut Sink<'_>) {
        if let Some(incoming) = self.messages.named_now(id) {
            found(&probes::OUTSTANDING, incoming.open_tokens().into());
        }
    }

    /// The sender is gone.
    fn forget_messages(&mut self, _: &mut Shared, _: Time, gone: Gone) {
        for key in self.messages.covered_ids(gone) {
            self.drop_message(key);
        }
        self.offers.retain(|bid| !gone.covers_message((bid.peer, bid.message)));
        if let Gone::Peer(peer) = gone {
            // The channels of this peer are idle now.
            let got = self.got.remove(&peer).map_or(0, |got| got.channels);
            self.taken = self.taken.saturating_sub(got);
            for gone in self.matches.extract_if(.., |_, m| m.peer == peer).map(|(_, gone)| gone) {
                let busy = if gone.prompt { &mut self.prompted } else { &mut self.had };
                *busy = busy.saturating_sub(gone.channels);
            }
        }
        self.finished.forget_gone(gone);
    }

    fn live_messages(&self) -> usize {
        self.messages.len()
    }
}
