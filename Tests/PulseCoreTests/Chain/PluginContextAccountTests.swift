// SPDX-License-Identifier: MIT

import PulseTesting
import TestSupport
import Testing

@testable import PulseCore

@Suite(.throttled)
struct PluginContextAccountTests {
    @Test
    func nothingIsKnownOfACallBeforeAPluginSaysIt() {
        let context = PluginContext.mock()
        #expect(context.account == .unknown)
        #expect(context.call.account == .unknown)
    }

    @Test
    func theCallAndAllCopiesOfItsContextShareTheAccount() {
        let context = PluginContext.mock()
        context.with(attempt: 2).account = .known("ada")
        #expect(context.account == .known("ada"))
        #expect(context.call.account == .known("ada"))
        context.call.account = .unknown
        #expect(context.account == .unknown)
    }

    @Test
    func detachedWorkIsForTheAccountOfItsCall() {
        let context = PluginContext.mock()
        context.account = .known("ada")
        let detached = context.detached()
        #expect(detached.account == .known("ada"))
        detached.account = .none
        #expect(context.account == .known("ada"))
    }

    /// No account is an account that was asked for.
    @Test
    func noAccountIsNoUnknownAccount() {
        let context = PluginContext.mock()
        context.account = .none
        #expect(context.account == PluginContext.Account.none)
        #expect(context.account != .unknown)
    }

    @Test
    func aCallWithoutAnAccountKeepsThatOfAnEarlierHop() {
        let context = PluginContext.mock()
        context.noteNoAccount()
        #expect(context.account == PluginContext.Account.none)
        context.account = .known("ada")
        context.noteNoAccount()
        #expect(context.account == .known("ada"))
    }

    @Test
    func onlyAKnownAccountHasAnIdentifier() {
        #expect(PluginContext.Account.unknown.identifier == nil)
        #expect(PluginContext.Account.none.identifier == nil)
        #expect(PluginContext.Account.known("ada").identifier == "ada")
    }

    @Test
    func anEmptyIdentifierCountsAsNone() {
        #expect(PluginContext.Account(provided: nil) == PluginContext.Account.none)
        #expect(PluginContext.Account(provided: "") == PluginContext.Account.none)
        #expect(PluginContext.Account(provided: "ada") == .known("ada"))
    }
}
